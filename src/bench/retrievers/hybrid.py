"""Hybrid retrieval: several retrievers side by side, their rankings fused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.collection import Doc, Query
from bench.errors import BenchError, check_number, check_whole
from bench.fusion import Fusion
from bench.retrievers import Index, Retriever
from bench.runs import Run


@dataclass(frozen=True, kw_only=True)
class Side:
    """One retriever of several: how many candidates it brings, and how much they weigh."""

    retriever: Retriever
    depth: int = 100
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_whole("fusion.sides: depth", self.depth, least=1)
        check_number("fusion.sides: weight", self.weight)


@dataclass(frozen=True, kw_only=True)
class Hybrid:
    """Any retrievers fused. Each is searched at its own depth, so what is asked of the whole only cuts it."""

    sides: Mapping[str, Side]
    fusion: Fusion

    def __post_init__(self) -> None:
        if not isinstance(self.sides, Mapping):
            raise BenchError(
                f"fusion.sides={self.sides!r}: sides by name, as conf/fusion/sides/bm25_dense.yaml has"
            )
        for name, side in self.sides.items():
            _check_side(name, side)
        if not callable(getattr(self.fusion, "fuse", None)):
            raise BenchError(
                f"fusion.method={self.fusion!r}: a part that fuses, which fusion=weighted and fusion=rrf bring along"
            )
        if not any(side.weight > 0 for side in self.sides.values()):
            raise BenchError("fusion.sides: at least one side with a weight above 0 is needed")
        for name in self.sides:
            # The names become columns of the run, beside those of a reranker.
            if not re.fullmatch(r"[A-Za-z0-9_]+", name) or name in ("first", "rerank"):
                raise BenchError(
                    f"fusion.sides.{name}: a side is named by letters, digits and _, and not first or rerank"
                )

    def index(self, docs: Sequence[Doc]) -> HybridIndex:
        """The index of every side that weighs something, over the same documents."""
        weighing = {name: side for name, side in self.sides.items() if side.weight > 0}
        return HybridIndex(self, {name: side.retriever.index(docs) for name, side in weighing.items()})


class HybridIndex:
    """The indexes of all sides."""

    def __init__(self, recipe: Hybrid, indexes: Mapping[str, Index]) -> None:
        self._recipe = recipe
        self._indexes = indexes

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The best `depth` documents of all sides; a side's rank and score stand as the stage of its name."""
        sides = self._recipe.sides
        runs = {name: index.search(queries, sides[name].depth) for name, index in self._indexes.items()}
        weights = {name: sides[name].weight for name in runs}
        return self._recipe.fusion.fuse(runs, weights, depth=depth)

    def facts(self) -> dict[str, object]:
        """The facts of each side under its name; their parameters and the bytes of all of them together."""
        sides = {name: index.facts() for name, index in self._indexes.items()}
        return {
            "parameters": {name: facts.get("parameters") for name, facts in sides.items()},
            "index_bytes": sum(
                size for side in sides.values() if isinstance(size := side.get("index_bytes"), int)
            ),
            "sides": sides,
        }

    def close(self) -> None:
        """Close every side."""
        for index in self._indexes.values():
            index.close()


def _check_side(name: str, side: object) -> None:
    if not isinstance(side, Side):
        raise BenchError(
            f"fusion.sides.{name}={side!r}: a side needs a retriever of its own: "
            f"+fusion.sides.{name}={{_target_: {Side.__module__}.Side, retriever: …}}"
        )
    if not callable(getattr(side.retriever, "index", None)):
        raise BenchError(
            f"fusion.sides.{name}.retriever={side.retriever!r}: a retriever is needed, by the _target_ of its class"
        )
