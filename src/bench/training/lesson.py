"""One training prepared: its lists, the questions that say when to stop, and a name for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.identity import digest
from bench.training.examples import Example, Mined
from bench.training.folds import holding_out
from bench.training.settings import Settings

TESTED = 200
"""How many questions say when to stop, at most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lesson:
    """What is learned from, in its order."""

    examples: tuple[Example, ...]
    """Those of all epochs, one after the other."""
    stopping: tuple[str, ...]
    """The questions that say when to stop."""
    seed: int
    made_of: str
    """Names the training: the base, the settings, the seed and every text and grade of it."""

    @property
    def pairs(self) -> int:
        """How many pairs of question and document teach, over all epochs."""
        return sum(len(example.documents) for example in self.examples)


def lesson(
    mined: Mined, held_out: Sequence[Sequence[str]], stopping: Sequence[str], *, settings: Settings, seed: int
) -> Lesson:
    """What can be learned while some questions are held out; BenchError where nothing is left."""
    left = holding_out(mined.collection, *held_out)
    random = np.random.default_rng(seed)
    examples = tuple(
        example
        for of_epoch in random.integers(2**32, size=settings.epochs).tolist()
        for example in mined.examples(left, negatives=settings.negatives, seed=of_epoch)
    )
    drawn = sorted(random.permutation(len(stopping))[:TESTED].tolist())
    told = (part for e in examples for part in (e.query, *e.documents, repr(e.grades), repr(e.agreement)))
    return Lesson(
        examples=examples,
        stopping=tuple(stopping[i] for i in drawn),
        seed=seed,
        made_of=digest(settings.encoder.identity(), repr(settings.told()), str(seed), *told),
    )
