"""How a reranker is trained: the settings of conf/train/reranker.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.errors import BenchError, check_number, check_whole
from bench.rerankers.base import Base
from bench.training.learning import Schedule


@dataclass(frozen=True, kw_only=True)
class Settings:
    """As conf/train/reranker.yaml says of each."""

    base: str
    revision: str | None
    together: int
    longest: int
    rank: int | None
    retrievers: Mapping[str, Mapping[str, Any] | None]
    depth: int
    within: str | None
    negatives: int
    agreement: float
    epochs: int
    learning_rate: float
    lists: int
    parts: int
    tests: int
    patience: int

    def __post_init__(self) -> None:
        for name, least in (("depth", 1), ("negatives", 1), ("epochs", 1), ("parts", 3)):
            check_whole(f"train.{name}", getattr(self, name), least=least)
        if self.rank is not None:
            check_whole("train.rank", self.rank, least=1)
        if not isinstance(self.retrievers, Mapping) or not self.searches:
            raise BenchError(
                f"train.retrievers={self.retrievers}: retrievers by a name, as conf/train/reranker.yaml has"
            )
        for name, (words, weight) in self.searches.items():
            if not words or not all(isinstance(word, str) and "=" in word for word in words):
                raise BenchError(
                    f"train.retrievers.{name}.search={list(words)}: overrides, as [retriever=bm25]"
                )
            check_number(f"train.retrievers.{name}.weight", weight, above=True)
        _ = self.encoder, self.schedule(seed=0)  # their own settings are checked when they are made

    @property
    def searches(self) -> dict[str, tuple[Sequence[str], float]]:
        """Of every retriever that is not null the overrides that choose it, and what its scores weigh."""
        given = {name: one for name, one in self.retrievers.items() if one is not None}
        return {name: (list(one.get("search", ())), one.get("weight", 1.0)) for name, one in given.items()}

    @property
    def encoder(self) -> Base:
        """What is trained."""
        return Base(name=self.base, revision=self.revision, together=self.together, longest=self.longest)

    def schedule(self, *, seed: int) -> Schedule:
        """How it learns."""
        return Schedule(
            learning_rate=self.learning_rate,
            agreement=self.agreement,
            lists=self.lists,
            tests=self.tests,
            patience=self.patience,
            seed=seed,
        )

    def told(self) -> dict[str, Any]:
        """Every setting by name, for the record."""
        each = {name: {"search": words, "weight": weight} for name, (words, weight) in self.searches.items()}
        return {**asdict(self), "retrievers": each}
