"""Several adapters of one collection's judgements, each for the questions that it was not trained on.

`cross_fit.json` says, by a digest of a question's text, in which of the folders below its adapter stands. So a
reranker can be judged on the very questions that it was made from: what scores a question has never seen it, nor
one of the same need, nor a document that answers it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bench.errors import BenchError, Unavailable
from bench.identity import digest
from bench.rerankers.adapter import Adapter
from bench.rerankers.delayed_pairs import DelayedPairs
from bench.rerankers.pairs import PairScores

FACTS = "cross_fit.json"


@dataclass(frozen=True, kw_only=True)
class CrossFit:
    """Adapters in folders below one. What is found is kept with the value."""

    folder: Path
    setting: str

    @staticmethod
    def stands_in(folder: Path) -> bool:
        """Whether a folder holds adapters for parts of a collection."""
        return (folder / FACTS).is_file()

    @property
    def identity(self) -> str:
        """The adapters by their contents, and which question is whose."""
        each = ", ".join(adapter.identity for adapter in self._adapters.values())
        return f"cross-fitted {digest(*sorted(f'{q} {f}' for q, f in self._folder_of.items()))} of [{each}]"

    def check(self) -> None:
        """Unavailable where an adapter cannot be had."""
        for adapter in self._adapters.values():
            adapter.check()

    def loaded(self, *, device: str, dtype: str = "float32") -> CrossFittedPairs:
        """All of them, ready to score."""
        return CrossFittedPairs(
            {name: one.loaded(device=device, dtype=dtype) for name, one in self._adapters.items()},
            self._folder_of,
            f"{self.setting}={self.folder}",
        )

    @cached_property
    def _adapters(self) -> dict[str, Adapter]:
        names = sorted(set(self._folder_of.values()))
        return {name: Adapter(folder=self.folder / name, setting=self.setting) for name in names}

    @cached_property
    def _folder_of(self) -> dict[str, str]:
        try:
            known = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))["adapter_of"]
            if not known:
                raise ValueError("no question is named")
            return {str(query): str(name) for query, name in known.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unavailable(
                f"{self.setting}={self.folder}: {FACTS} cannot be read ({type(error).__name__}: {error}); "
                "train it anew: python -m bench train reranker --cross-fit 5"
            ) from error


class CrossFittedPairs:
    """Loaded adapters, each asked about its own questions."""

    def __init__(self, of: Mapping[str, DelayedPairs], folder_of: Mapping[str, str], told: str) -> None:
        self._of, self._folder_of, self._told = of, folder_of, told
        self.longest_input: int | None = min(pairs.longest_input or 0 for pairs in of.values())

    def score(
        self, queries: Sequence[str], documents: Sequence[str], *, longest: int, batch_tokens: int
    ) -> PairScores:
        """Logits of pairs; BenchError for a question that no adapter is known to be strange to."""
        of_query = {query: self._folder_of.get(question(query), "") for query in dict.fromkeys(queries)}
        if unknown := [query for query, name in of_query.items() if not name]:
            raise BenchError(
                f"{self._told}: {len(unknown)} questions are none of those that it was trained for, as "
                f"{unknown[0][:60]!r}: for new questions train one reranker of all (without --cross-fit)"
            )
        names = np.array([of_query[query] for query in queries])
        values, cut = np.empty(len(queries)), np.zeros(len(queries), np.int32)
        for name, pairs in self._of.items():
            own = np.flatnonzero(names == name).tolist()
            if own:
                scores = pairs.score(
                    [queries[i] for i in own],
                    [documents[i] for i in own],
                    longest=longest,
                    batch_tokens=batch_tokens,
                )
                values[own], cut[own] = scores.values, scores.cut
        return PairScores(values, cut)


def question(text: str) -> str:
    """What a question is known by."""
    return digest(text)
