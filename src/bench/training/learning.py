"""Fine-tuning a cross-encoder on graded lists: loss, steps, tests on the way, and going on after a kill."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.errors import BenchError, check_number, check_whole
from bench.timing import Stopwatch
from bench.training.checkpoint import State
from bench.training.examples import Example

# torch takes seconds to import: it is imported where something is learned.

Score = Callable[[Sequence[tuple[str, str]]], Any]
"""The logits of pairs of question and document, a tensor [n]."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How it is learned.

    learning_rate: of AdamW at its highest, after `warmup` of the steps; it falls to 0 in a straight line
    agreement: how much the agreement of systems teaches beside the judgements
    lists: questions a step
    tests: how often the development questions are reranked, at even distances
    patience: after so many tests without a better one it ends
    """

    learning_rate: float = 1e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    agreement: float = 0.0
    lists: int = 4
    tests: int = 5
    patience: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("train.learning_rate", self.learning_rate, least=0)
        check_number("train.warmup", self.warmup, least=0, most=1)
        check_number("train.weight_decay", self.weight_decay, least=0)
        check_number("train.agreement", self.agreement, least=0)
        for name in ("lists", "tests", "patience"):
            check_whole(f"train.{name}", getattr(self, name), least=1)


@dataclass(frozen=True)
class Progress:
    """Where training stands."""

    step: int
    steps: int
    loss: float
    """The mean of the last twenty steps."""
    left: float
    """Seconds, at the speed so far."""
    tested: float | None
    """What the development questions reach, where they were just tested."""


@dataclass(frozen=True)
class Learned:
    """What came of it: the best state is loaded in the model."""

    steps: int
    tests: tuple[tuple[int, float], ...]
    """Step and figure of each test; the first, of step 0, is the untrained model."""
    seconds: float


def learn(
    model: Any,
    examples: Sequence[Example],
    *,
    score: Score,
    test: Callable[[], float],
    schedule: Schedule,
    checkpoint: Path,
    made_of: str,
    tell: Callable[[Progress], None],
) -> Learned:
    """Train the parameters of a model that ask for gradients, and leave it in its best state by `test`.

    `score` gives the model's logit of each pair as one tensor, with gradients; `test` is better the higher.
    Where `checkpoint` is a file of the same training (`made_of` names it), it goes on from there. The loss of a
    list is the cross entropy between softmax(scores) and gains 2^grade - 1 made a distribution (ListNet: Cao et
    al., 2007), plus the mean binary cross entropy of each score and grade / highest grade, which gives scores
    one scale over questions, plus `agreement` times the cross entropy of softmax(agreement of the systems) and
    softmax(scores), which is distillation.
    """
    import torch

    watch = Stopwatch()
    torch.manual_seed(schedule.seed)
    learning = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for _, p in learning]
    optimizer = torch.optim.AdamW(parameters, weight_decay=schedule.weight_decay)
    state = State.open(checkpoint, learning, optimizer, made_of=made_of)
    if not state.tests:
        state.tested(test(), learning)
    steps = math.ceil(len(examples) / schedule.lists)
    tests_at = {round(steps * (i + 1) / schedule.tests) for i in range(schedule.tests)}
    losses: list[float] = []
    while state.step < steps and state.tests_since_best < schedule.patience:
        lists = examples[state.step * schedule.lists :][: schedule.lists]
        state.step += 1
        for group in optimizer.param_groups:
            group["lr"] = schedule.learning_rate * _share(state.step, steps, schedule.warmup)
        losses.append(_step(score, optimizer, lists, schedule, parameters))
        figure = test() if state.step in tests_at else None
        if figure is not None:
            state.tested(figure, learning)
            state.save(checkpoint, learning, optimizer, seconds=watch.seconds)
        left = watch.seconds / (state.step - state.resumed_at) * (steps - state.step)
        tell(Progress(state.step, steps, float(np.mean(losses[-20:])), left, figure))
    state.load_best(learning)
    return Learned(state.step, tuple(state.tests), state.seconds + watch.seconds)


def _share(step: int, steps: int, warmup: float) -> float:
    """The learning rate of a step, as a share of its highest."""
    rising = max(1, round(steps * warmup))
    return min(step / rising, (steps - step + 1) / max(1, steps - rising + 1))


def _step(
    score: Score, optimizer: Any, lists: Sequence[Example], schedule: Schedule, parameters: Any
) -> float:
    import torch

    pairs = [(example.query, document) for example in lists for document in example.documents]
    scores = torch.split(score(pairs), [len(example.documents) for example in lists])
    losses = [_loss(*one, agreement=schedule.agreement) for one in zip(scores, lists, strict=True)]
    loss = sum(losses) / len(lists)
    value = float(loss.detach())
    if not math.isfinite(value):
        raise BenchError(f"the loss became {value}: lower train.learning_rate={schedule.learning_rate:g}")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    return value


def _loss(scores: Any, example: Example, *, agreement: float) -> Any:
    import torch
    from torch.nn import functional

    grades = torch.tensor(example.grades, dtype=torch.float32)
    gains = 2**grades - 1
    shares = functional.log_softmax(scores, dim=0)
    listwise = -(gains / gains.sum() * shares).sum()
    pointwise = functional.binary_cross_entropy_with_logits(scores, grades / grades.max())
    of_systems = torch.softmax(torch.tensor(example.agreement, dtype=torch.float32), dim=0)
    return listwise + pointwise - agreement * (of_systems * shares).sum()
