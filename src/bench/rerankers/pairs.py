"""The reranker over anything that scores (query, document) pairs one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bench.collection import Collection
from bench.errors import BenchError
from bench.fusion import z_scores
from bench.runs import Run, Stage


@dataclass(frozen=True, eq=False)
class PairScores:
    """What a scorer says of some pairs, in their order."""

    values: npt.NDArray[np.float64]
    """Higher is better, float64 [n], never saturated: logits, not probabilities."""
    cut: npt.NDArray[np.int32]
    """How many tokens of each pair the model did not read, int32 [n]."""

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.shape != self.cut.shape:
            raise ValueError(f"scores {self.values.shape} and tokens cut {self.cut.shape}")


class PairScorer(Protocol):
    """Scores each pair from its two texts alone."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """One score a pair; `queries` and `documents` are aligned."""


@dataclass(frozen=True, kw_only=True)
class PairReranker:
    """Puts the first `depth` candidates of each query in the order of a scorer.

    With `interpolate` w, the order is that of (1 - w) z(scorer) + w z(first stage), z-scores over the scored
    candidates of the query; with 0 it is the scorer's own, and its scores stay as they are.
    """

    scorer: PairScorer
    depth: int = 50
    interpolate: float = 0.0

    def __post_init__(self) -> None:
        if type(self.depth) is not int or self.depth < 1:
            raise BenchError(f"rerank_depth={self.depth!r}: a whole number from 1")
        if type(self.interpolate) not in (int, float) or not 0 <= self.interpolate <= 1:
            raise BenchError(
                f"interpolate={self.interpolate!r}: from 0 (the scorer alone) to 1 (the first stage alone)"
            )

    def rerank(self, run: Run, collection: Collection) -> Run:
        """The same documents newly ordered; `first` holds the order before, `rerank` the scorer's own.

        What lies deeper than `depth` has no rank in `rerank`.
        """
        head = run.rows[:, : self.depth]
        scores = np.full(head.shape, -np.inf)
        scores[head >= 0] = self._scores(run, collection)
        reranked = _marked(run.as_stage("first").reordered(scores), head.shape[1])
        if not self.interpolate:
            return reranked
        # The scored candidates are still the first places, now in the scorer's order.
        found = reranked.rows[:, : head.shape[1]] >= 0
        first, own = (reranked.stages[name].scores[:, : head.shape[1]] for name in ("first", "rerank"))
        w = self.interpolate
        mixed = (1 - w) * z_scores(own, found) + w * z_scores(first, found)
        return reranked.reordered(np.where(found, mixed, -np.inf))

    def _scores(self, run: Run, collection: Collection) -> npt.NDArray[np.float64]:
        """One flat list of all pairs, query by query, so that the scorer can batch across queries."""
        if run.docs is not collection.doc_ids and run.docs != collection.doc_ids:
            raise ValueError("the run and the collection must share their vocabulary")
        text_of = collection.query_texts
        query, place = np.nonzero(run.rows[:, : self.depth] >= 0)
        queries = [text_of[run.queries[i]] for i in query.tolist()]
        documents = [collection.docs[row].contents for row in run.rows[query, place].tolist()]
        return self.scorer.score(queries, documents).values


def _marked(run: Run, scored: int) -> Run:
    """The run with its order as the stage `rerank`, of which only the first places were scored."""
    stage = run.as_stage("rerank").stages["rerank"]
    by_scorer = np.arange(run.depth) < scored
    own = Stage(np.where(by_scorer, stage.ranks, 0), np.where(by_scorer, stage.scores, -np.inf))
    return dataclasses.replace(run, stages={**run.stages, "rerank": own})
