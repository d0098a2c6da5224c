"""A run and qrels joined into gains, and gains into values: per query first, the mean once and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError
from bench.metrics import EMPTY, JUDGED, RELEVANT, UNJUDGED, Array, Gains, Measure
from bench.qrels import Qrels
from bench.run import Run

ANSWERS = 2
"""The grade of a document that answers the query or one of its parts."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one run: every judged query, every cut-off, every measure.

    A judged query that the run does not answer counts 0; one without a relevant document is left out of the
    means (NaN) and counted, except by Judged, which needs no relevant document.
    """

    queries: tuple[str, ...]
    """The judged queries, ascending."""
    values: Mapping[tuple[str, int], Array]
    """By name of the measure and k: float64 [q], NaN where the query is left out."""
    gains: Gains
    unanswered: npt.NDArray[np.bool_]
    """Judged queries with something relevant for which nothing came back, [q]."""

    def mean(self, measure: str, k: int) -> float | None:
        """The mean over the queries that count, None where none does."""
        values = self.values[measure, k]
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else None

    def counted(self, measure: str, k: int) -> int:
        """Over how many queries the mean is."""
        return int((~np.isnan(self.values[measure, k])).sum())

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in the order they were asked for."""
        return tuple(dict.fromkeys(name for name, _ in self.values))

    @cached_property
    def no_relevant(self) -> int:
        """Judged queries without a relevant document, which the means leave out."""
        return int((self.gains.total() == 0).sum())


def evaluate(run: Run, qrels: Qrels, *, ks: Sequence[int], measures: Sequence[Measure]) -> Evaluation:
    """Every measure at every k; places beyond the run's depth are empty."""
    if not len(qrels):
        raise BenchError("there is no judgement, so nothing can be measured")
    gains = join(run, qrels)
    relevant = gains.total() > 0
    values = {}
    for measure in measures:
        for k in ks:
            counts = np.full(len(relevant), True) if measure.name == "judged" else relevant
            values[measure.name, k] = np.where(counts, measure(gains, k), np.nan)
    unanswered = relevant & (gains.status == EMPTY).all(axis=-1)
    return Evaluation(qrels.judged_queries, values, gains, unanswered)


def join(run: Run, qrels: Qrels) -> Gains:
    """The gains of the run, one row a judged query (ascending), found by one sorted look-up for all pairs."""
    queries = {query: i for i, query in enumerate(qrels.judged_queries)}
    judged_query = np.array([queries[query] for query in qrels.query_ids], np.int64)
    judged_row = run.docs.rows(qrels.doc_ids).astype(np.int64)
    grades = qrels.grades

    # At least one place, so that a run without any is one of empty places.
    rows = np.full((len(queries), max(1, run.depth)), -1, np.int64)
    place = np.array([queries.get(query, -1) for query in run.queries], np.int64)
    rows[place[place >= 0], : run.depth] = run.rows[place >= 0]

    known = judged_row >= 0
    width = len(run.docs) + 1
    keys = judged_query[known] * width + judged_row[known]
    order = np.argsort(keys)
    asked = np.where(rows >= 0, np.arange(len(queries))[:, None] * width + rows, -1)
    found, at = _look_up(asked, keys[order])
    grade = np.where(found, grades[known][order][at] if len(keys) else 0.0, 0.0)

    status = np.where(rows < 0, EMPTY, np.where(found, np.where(grade >= 1, RELEVANT, JUDGED), UNJUDGED))
    covers, parts = _parts(run, qrels, rows)
    return Gains(
        ranked=np.maximum(grade, 0.0),
        status=status.astype(np.int8),
        ideal=_ideal(judged_query, grades, len(queries)),
        covers=covers,
        parts=parts,
    )


def _look_up(
    asked: npt.NDArray[np.int64], keys: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Which of the asked keys stand among the sorted keys, and where."""
    if not len(keys):
        return np.zeros(asked.shape, bool), np.zeros(asked.shape, np.intp)
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return keys[at] == asked, at


def _ideal(query: npt.NDArray[np.int64], grades: Array, queries: int) -> Array:
    """All judged gains of each query, falling, [q, n]."""
    gain = np.maximum(grades, 0.0)
    order = np.lexsort((-gain, query))
    count = np.bincount(query, minlength=queries)
    place = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
    ideal = np.zeros((queries, int(count.max(initial=0))))
    ideal[query[order], place] = gain[order]
    return ideal


def _parts(
    run: Run, qrels: Qrels, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint64] | None, npt.NDArray[np.uint64] | None]:
    """Bits of the parts that each place covers [q, depth] and that each answer has [q]; None without parts.

    A query that the collection does not list has one part, any document that answers it.
    """
    if not qrels.parts:
        return None, None
    covers = np.zeros(rows.shape, np.uint64)
    parts = np.zeros(len(rows), np.uint64)
    for i, query in enumerate(qrels.judged_queries):
        listed = qrels.parts.get(query)
        if listed is None:
            answers = tuple(doc for doc, grade in qrels.by_query[query].items() if grade >= ANSWERS)
            listed = {"answer": answers} if answers else {}
        if len(listed) > 64:
            raise BenchError(f"query {query} has {len(listed)} parts; at most 64 can be told apart")
        for bit, docs in enumerate(listed.values()):
            parts[i] |= np.uint64(1 << bit)
            known = run.docs.rows(docs)
            covers[i] |= np.isin(rows[i], known[known >= 0]).astype(np.uint64) << np.uint64(bit)
    return covers, parts
