"""Every text of a training read once: the layers below the ones that learn never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.rerankers.delayed import DelayedInteraction, Reading

AT_ONCE = 256


class Readings:
    """The readings of questions and documents, held in half precision, and the score of pairs of them."""

    def __init__(self, model: Any) -> None:
        self._module: DelayedInteraction = model.eval()[0]
        self._known: dict[tuple[str, bool], Reading] = {}

    def check(self, queries: Iterable[str]) -> None:
        """BenchError where a question is longer than what is read of it."""
        if cut := self._module.too_long(list(queries)):
            text, tokens = cut
            raise BenchError(
                f"a query of {tokens} tokens is longer than train.longest={self._module.longest}, and queries are "
                f"never cut: {text[:60]!r}…"
            )

    def read(
        self, queries: Iterable[str], documents: Iterable[str], *, tell: Callable[[int, int], None]
    ) -> None:
        """Read what was not read before; `tell` hears how many of how many texts are done."""
        asked = [(text, True) for text in dict.fromkeys(queries)]
        told = [(text, False) for text in dict.fromkeys(documents)]
        missing = [key for key in (*asked, *told) if key not in self._known]
        missing.sort(key=lambda key: (key[1], len(key[0])))
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            for of_queries in (True, False):
                texts = [text for text, kind in some if kind is of_queries]
                for text, reading in zip(texts, self._module.read(texts, of_queries=of_queries), strict=True):
                    self._known[text, of_queries] = replace(reading, states=reading.states.half())
            tell(start + len(some), len(missing))

    def score(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """The logit of each pair of question and document, a tensor [n]; both were read before."""
        return self._module.join(
            [self._known[query, True] for query, _ in pairs],
            [self._known[document, False] for _, document in pairs],
        )
