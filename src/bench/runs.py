"""The rankings of one system. They are put in order when a run is made, here and nowhere else."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.encoding import positions
from bench.errors import BenchError
from bench.ids import Ids

Rows = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]


class Stage(NamedTuple):
    """Where one stage of the system had put each document of the run: rank from 1 (0: nowhere) and score."""

    ranks: Rows
    scores: Scores


@dataclass(frozen=True, eq=False)
class Run:
    """For every query, rows of documents and their scores, best first.

    `rows` is int32 [q, depth] over the vocabulary `docs`, -1 behind the end of a list; `scores` is float64
    [q, depth]. Order: score descending as float64, equal scores by document id descending. ±inf are scores
    like others; NaN and a document that stands twice in one ranking are refused.
    """

    queries: tuple[str, ...]
    docs: Ids
    rows: Rows
    scores: Scores
    stages: Mapping[str, Stage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = np.array(self.rows, np.int32, order="C")
        scores = np.where(rows < 0, -np.inf, np.asarray(self.scores, np.float64))
        if rows.shape != scores.shape or rows.ndim != 2 or len(rows) != len(self.queries):
            raise ValueError(f"rows {rows.shape}, scores {scores.shape}, {len(self.queries)} queries")
        if np.isnan(scores).any():
            query = self.queries[int(np.argmax(np.isnan(scores).any(axis=1)))]
            raise BenchError(f"query {query}: a score is NaN, which has no place in a ranking")
        stages = {name: Stage(*map(np.array, stage)) for name, stage in self.stages.items()}
        if not _in_order(rows, scores):
            order = np.lexsort((rows, -scores, rows < 0), axis=-1)
            rows, scores = np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)
            stages = {name: _permuted(stage, order) for name, stage in stages.items()}
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "stages", stages)
        self._refuse_duplicates()

    def _refuse_duplicates(self) -> None:
        ordered = np.sort(self.rows, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if twice.any():
            query, place = np.argwhere(twice)[0]
            doc = self.docs[int(ordered[query, place])]
            raise BenchError(f"query {self.queries[query]}: document {doc} stands twice in its ranking")

    @property
    def depth(self) -> int:
        """How many places a ranking has; a list may end before."""
        return int(self.rows.shape[1])

    @property
    def returned(self) -> Rows:
        """How many documents came back for each query, int32 [q]."""
        return np.asarray((self.rows >= 0).sum(axis=1), np.int32)

    def top(self, depth: int) -> Run:
        """The first places of every ranking."""
        stages = {name: Stage(s.ranks[:, :depth], s.scores[:, :depth]) for name, s in self.stages.items()}
        return dataclasses.replace(
            self, rows=self.rows[:, :depth], scores=self.scores[:, :depth], stages=stages
        )

    def as_stage(self, name: str) -> Run:
        """The same run, remembering under this name where it has put each document and with which score."""
        ranks = np.where(self.rows >= 0, np.arange(1, self.depth + 1, dtype=np.int32), 0).astype(np.int32)
        return dataclasses.replace(self, stages={**self.stages, name: Stage(ranks, self.scores)})

    def reordered(self, scores: Scores) -> Run:
        """The first places by these new scores [q, n <= depth]; the rest follow in their order, below.

        A place behind the end of a list is ignored, whatever its score. The rest is scored downwards from
        the lowest new score, in steps that float64 can tell apart.
        """
        new = np.asarray(scores, np.float64)
        width = new.shape[1]
        head, tail = self.rows[:, :width] >= 0, self.rows[:, width:] >= 0
        finite = np.where(head & np.isfinite(new), new, np.inf)
        lowest = np.min(finite, axis=1, initial=np.inf, keepdims=True)
        lowest = np.where(np.isfinite(lowest), lowest, 0.0)
        step = np.maximum(1.0, np.abs(lowest)) * 2.0**-20
        below = lowest - step * np.arange(1, self.depth - width + 1)
        if tail.any() and np.isneginf(np.where(head, new, 0.0)).any():
            raise BenchError("a reranker gave a score of -inf, below which nothing can follow")
        return dataclasses.replace(self, scores=np.concatenate([new, below], axis=1))

    def to_table(self) -> pa.Table:
        """One row a place: query_id, doc_id, rank, score, and `<stage>_rank`, `<stage>_score` of each stage."""
        query, place = np.nonzero(self.rows >= 0)
        columns: dict[str, pa.Array] = {
            "query_id": pa.array(self.queries, pa.string()).take(pa.array(query)),
            "doc_id": self.docs.take(self.rows[query, place]),
            "rank": pa.array(place + 1, pa.int32()),
            "score": pa.array(self.scores[query, place], pa.float64()),
        }
        for name, stage in self.stages.items():
            ranks, scores = stage.ranks[query, place], stage.scores[query, place]
            columns[f"{name}_rank"] = pa.array(ranks, pa.int32(), mask=ranks == 0)
            columns[f"{name}_score"] = pa.array(scores, pa.float64(), mask=ranks == 0)
        return pa.table(columns)

    @classmethod
    def from_table(cls, table: pa.Table, *, queries: tuple[str, ...], docs: Ids) -> Run:
        """A run from what `to_table` gives; a query of `queries` that has no row is unanswered."""
        query = positions(table["query_id"], pa.array(queries, pa.string()))
        row = docs.rows(table["doc_id"])
        if (query < 0).any() or (row < 0).any():
            raise BenchError("the run names queries or documents that are not in this collection")
        grouped = bool((query[1:] >= query[:-1]).all())
        order = slice(None) if grouped else np.argsort(query, kind="stable")
        query = query[order]
        count = np.bincount(query, minlength=len(queries))
        place = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        shape = (len(queries), int(count.max(initial=0)))
        at = query.astype(np.int64) * shape[1] + place

        def ranks_of(values: Rows, empty: int) -> Rows:
            filled = np.full(shape, empty, np.int32)
            filled.reshape(-1)[at] = values[order]
            return filled

        def scores_of(column: str) -> Scores:
            filled = np.full(shape, -np.inf)
            filled.reshape(-1)[at] = table[column].fill_null(-np.inf).to_numpy()[order]
            return filled

        stages = {}
        for name in [c.removesuffix("_rank") for c in table.column_names if c.endswith("_rank")]:
            ranks = table[f"{name}_rank"].fill_null(0).to_numpy()
            stages[name] = Stage(ranks_of(ranks, 0), scores_of(f"{name}_score"))
        return cls(queries, docs, ranks_of(row, -1), scores_of("score"), stages)


def _in_order(rows: Rows, scores: Scores) -> bool:
    """Whether every ranking is in order already, as what is cut from another run or read from a file mostly is."""
    # As an unsigned number the row of an empty place is behind every document.
    place = rows.view(np.uint32)
    higher, equal = scores[:, :-1] > scores[:, 1:], scores[:, :-1] == scores[:, 1:]
    return bool((higher | (equal & (place[:, :-1] <= place[:, 1:]))).all())


def _permuted(stage: Stage, order: npt.NDArray[np.intp]) -> Stage:
    return Stage(np.take_along_axis(stage.ranks, order, 1), np.take_along_axis(stage.scores, order, 1))
