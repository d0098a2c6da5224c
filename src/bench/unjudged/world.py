"""Which unjudged documents might be relevant: those of a pool of runs, or all documents; nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.gains import UNJUDGED, Gains
from bench.ids import Ids
from bench.join import aligned, join
from bench.qrels import Qrels
from bench.runs import Rows, Run

Keys = npt.NDArray[np.int64]

MARKED = 1 << 26
"""Up to so many pairs of query and document there is a mark for each, which is faster than to sort what was found."""


@dataclass(frozen=True, eq=False)
class Standing:
    """A run as judgements and a world see it, one row a judged query, ascending."""

    gains: Gains
    rows: Rows
    """The documents by place, rows of the world's vocabulary, -1 behind the end, [q, depth]."""
    possible: npt.NDArray[np.bool_]
    """Where an unjudged document stands that might be relevant, [q, depth]."""
    unjudged: Keys
    """How many such documents the query has in the whole world, [q]."""


@dataclass(frozen=True, eq=False)
class World:
    """For each judged query the unjudged documents that might be relevant; made by `of_pool` or `of_everything`.

    The documents outside it count as not relevant, and the queries are those that are judged.
    """

    qrels: Qrels
    docs: Ids
    max_grade: float | None
    """The top of the scale of grades, None for the highest given."""
    unjudged: Keys
    """How many documents of each judged query are in it, [q]."""
    keys: Keys | None = None
    """Query position times number of documents plus row, of each pair, rising; None for all unjudged pairs."""
    marks: npt.NDArray[np.bool_] | None = None
    """For each such number whether the pair is in it, where there are few enough."""

    @classmethod
    def of_pool(
        cls, runs: Sequence[Run], qrels: Qrels, *, depth: int | None = None, max_grade: float | None = None
    ) -> World:
        """The world of what any of these runs has in its top `depth` (all it has stored, without)."""
        docs = runs[0].docs if all(run.docs is runs[0].docs for run in runs) else _union(runs)
        found = [_keys(_rows_in(docs, run, qrels)[:, :depth], len(docs)) for run in runs]
        row = docs.rows(qrels.doc_array)
        judged = (qrels.query_codes * len(docs) + row)[row >= 0]
        count = len(qrels.judged_queries) * len(docs)
        if count > MARKED:
            marks, keys = None, np.setdiff1d(np.concatenate([one[one >= 0] for one in found]), judged)
        else:
            marks = _marked(found, judged, count)
            keys = np.flatnonzero(marks)
        counts = np.bincount(keys // max(1, len(docs)), minlength=len(qrels.judged_queries))
        return cls(qrels, docs, max_grade, counts, keys, marks)

    @classmethod
    def of_everything(cls, docs: Ids, qrels: Qrels, *, max_grade: float | None = None) -> World:
        """The world of all these documents, whatever the query."""
        known = docs.rows(qrels.doc_array) >= 0
        judged = np.bincount(qrels.query_codes[known], minlength=len(qrels.judged_queries))
        return cls(qrels, docs, max_grade, len(docs) - judged)

    def standing(self, run: Run) -> Standing:
        """How the run stands: its gains, and where something unjudged might be relevant."""
        gains = join(run, self.qrels, max_grade=self.max_grade)
        rows = _rows_in(self.docs, run, self.qrels)
        possible = (gains.status == UNJUDGED) & (rows >= 0)
        if self.keys is not None:
            possible &= self._holds(_keys(rows, len(self.docs)))
        return Standing(gains, rows, possible, self.unjudged)

    def documents(self, query: int) -> Keys:
        """The rows of the unjudged documents of a judged query, given by its position."""
        if self.keys is not None:
            start, end = np.searchsorted(self.keys, [query * len(self.docs), (query + 1) * len(self.docs)])
            return self.keys[start:end] - query * len(self.docs)
        judged = self.docs.rows(self.qrels.doc_array.filter(self.qrels.query_codes == query))
        return np.setdiff1d(np.arange(len(self.docs)), judged)

    def _holds(self, asked: Keys) -> npt.NDArray[np.bool_]:
        """Which pairs are in the pool, by their numbers; -1 stands for none."""
        if self.keys is None or not len(self.keys):
            return np.zeros(asked.shape, bool)
        if self.marks is not None:
            return np.asarray(self.marks[asked] & (asked >= 0))
        at = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        return np.asarray(self.keys[at] == asked)


def _union(runs: Sequence[Run]) -> Ids:
    return Ids(doc for run in runs for doc in run.docs)


def _rows_in(docs: Ids, run: Run, qrels: Qrels) -> Rows:
    """The rows of the run over another vocabulary, -1 for a document that it lacks, in the order of judged queries."""
    rows = aligned(run.rows, run, qrels, empty=-1)
    if run.docs is docs or not len(run.docs):
        return rows
    return np.asarray(np.where(rows >= 0, docs.rows(run.docs.array)[rows], -1), np.int32)


def _keys(rows: Rows, width: int) -> Keys:
    """One number for each pair of query and document, -1 where there is none, [q, depth]."""
    query = np.arange(len(rows), dtype=np.int64)[:, np.newaxis]
    return np.asarray(np.where(rows >= 0, query * width + rows, -1), np.int64)


def _marked(found: Sequence[Keys], judged: Keys, count: int) -> npt.NDArray[np.bool_]:
    """A mark for each pair that was found and is not judged, [count]."""
    marks = np.zeros(count, bool)
    for keys in found:
        marks[keys[keys >= 0]] = True
    marks[judged] = False
    return marks
