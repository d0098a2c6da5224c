"""A run and qrels made one: the gains that measures see, one row a judged query."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from bench.gains import EMPTY, JUDGED, NEGATIVE, RELEVANT, UNJUDGED, Bits, Gains
from bench.qrels import Qrels
from bench.runs import Rows, Run


def join(run: Run, qrels: Qrels, *, max_grade: float | None = None) -> Gains:
    """The gains of the run, one row a judged query, ascending; queries that the run lacks are empty.

    `max_grade` is the top of the scale of grades, by default the highest grade given.
    """
    query = qrels.query_codes
    row = run.docs.rows(qrels.doc_array)
    rows = _aligned(run, qrels)
    # By place in its query, so that one judgement of every query is looked for at a time.
    count = np.bincount(query, minlength=len(qrels.judged_queries))
    place = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
    rank = _ranks(rows, query, row, place)

    found = rank >= 0
    at = (query[found], rank[found])
    grade = qrels.grades
    ranked = np.zeros(rows.shape)
    ranked[at] = np.maximum(grade[found], 0)
    status = np.where(rows < 0, np.int8(EMPTY), np.int8(UNJUDGED))
    kind = np.where(grade >= 1, RELEVANT, np.where(grade < 0, NEGATIVE, JUDGED)).astype(np.int8)
    status[at] = kind[found]

    order = np.lexsort((-grade, query))
    ideal = np.full((len(count), int(count.max(initial=0))), -np.inf)
    ideal[query, place] = grade[order]
    covers, parts, covering = _parts(qrels, rows.shape, at=at, found=found, where=(query, place))
    top = float(grade.max(initial=1.0)) if max_grade is None else max_grade
    return Gains(ranked, status, ideal, top, covers, parts, covering)


def _aligned(run: Run, qrels: Qrels) -> Rows:
    """The rows of the run in the order of the judged queries, [q, depth]; at least one place, so none is special."""
    if run.queries == qrels.judged_queries and run.depth:
        return run.rows
    positions = {query: i for i, query in enumerate(qrels.judged_queries)}
    place = np.array([positions.get(query, -1) for query in run.queries], np.int64)
    rows = np.full((len(positions), max(1, run.depth)), -1, np.int32)
    rows[place[place >= 0], : run.depth] = run.rows[place >= 0]
    return rows


def _ranks(
    rows: Rows, query: npt.NDArray[np.int64], row: Rows, place: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Where each judged document stands in the ranking of its query, from 0; -1 where it does not.

    Comparing a whole ranking with one document is so cheap that sorting pays only for deep pools.
    """
    comparisons = len(row) * rows.shape[1]
    if comparisons > 40 * rows.size:
        return _ranks_by_sorting(rows, query, row)
    rank = np.full(len(row), -1, np.int64)
    order = np.argsort(place, kind="stable")
    bounds = np.searchsorted(place[order], np.arange(int(place.max(initial=-1)) + 2))
    for start, end in itertools.pairwise(bounds):
        here = order[start:end]
        lines = rows if end - start == len(rows) else rows[query[here]]
        hit = lines == np.where(row[here] >= 0, row[here], -2)[:, np.newaxis]
        first = hit.argmax(axis=1)
        rank[here] = np.where(hit[np.arange(len(here)), first], first, -1)
    return rank


def _ranks_by_sorting(rows: Rows, query: npt.NDArray[np.int64], row: Rows) -> npt.NDArray[np.int64]:
    width = max(int(rows.max(initial=0)), int(row.max(initial=0))) + 2
    keys = (np.arange(len(rows))[:, np.newaxis] * width + rows).ravel()
    places = np.flatnonzero(rows.ravel() >= 0)
    places = places[np.argsort(keys[places])]
    if not len(places):
        return np.full(len(row), -1, np.int64)
    asked = np.where(row >= 0, query * width + row, -1)
    at = places[np.minimum(np.searchsorted(keys[places], asked), len(places) - 1)]
    return np.where(keys[at] == asked, at % rows.shape[1], -1)


def _parts(
    qrels: Qrels,
    shape: tuple[int, ...],
    *,
    at: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    found: npt.NDArray[np.bool_],
    where: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
) -> tuple[Bits | None, Bits | None, Bits | None]:
    """Bits of the parts that each place covers, that each answer has and that each judged document covers.

    A query that the collection does not list has one part, any document that answers it.
    """
    if not qrels.parts:
        return None, None, None
    bits = qrels.part_bits
    covering = np.zeros((len(qrels.judged_queries), int(where[1].max(initial=-1)) + 1), np.uint64)
    covering[where] = bits
    parts = np.bitwise_or.reduce(covering, axis=1)
    covers = np.zeros(shape, np.uint64)
    covers[at] = bits[found]
    return covers, parts, covering
