"""A run and qrels made one: the gains that measures see, one row a judged query."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bench.gains import EMPTY, JUDGED, NEGATIVE, RELEVANT, UNJUDGED, Bits, Gains
from bench.qrels import Qrels
from bench.runs import Rows, Run

Place = TypeVar("Place", bound=np.generic)


def join(run: Run, qrels: Qrels, *, max_grade: float | None = None, depth: int | None = None) -> Gains:
    """The gains of the run, one row a judged query, ascending; queries that the run lacks are empty.

    `max_grade` is the top of the scale of grades, by default the highest grade given; `depth` is how many places
    are looked at, by default all.
    """
    query = qrels.query_codes
    row = qrels.rows_in(run.docs)
    rows = np.ascontiguousarray(aligned(run.rows, run, qrels, empty=-1)[:, :depth])
    count = np.bincount(query, minlength=len(qrels.judged_queries))
    place = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
    rank = _ranks(rows, query, row)

    found = rank >= 0
    at = (query[found], rank[found])
    grade = qrels.grades
    ranked = np.zeros(rows.shape)
    ranked[at] = np.maximum(grade[found], 0)
    status = np.where(rows < 0, np.int8(EMPTY), np.int8(UNJUDGED))
    kind = np.where(grade >= 1, RELEVANT, np.where(grade < 0, NEGATIVE, JUDGED)).astype(np.int8)
    status[at] = kind[found]

    falling = np.full((len(count), int(count.max(initial=0))), np.inf)
    falling[query, place] = -grade
    ideal = -np.sort(falling, axis=-1)
    covers, parts, covering = _parts(qrels, rows.shape, at=at, found=found, where=(query, place))
    top = float(grade.max(initial=1.0)) if max_grade is None else max_grade
    return Gains(ranked, status, ideal, top, covers, parts, covering)


def aligned(values: npt.NDArray[Place], run: Run, qrels: Qrels, *, empty: float) -> npt.NDArray[Place]:
    """What a run holds by place, [q, depth], in the order of the judged queries and `empty` for those it lacks.

    At least one place, so none is special.
    """
    if run.queries == qrels.judged_queries and run.depth:
        return values
    positions = {query: i for i, query in enumerate(qrels.judged_queries)}
    place = np.array([positions.get(query, -1) for query in run.queries], np.int64)
    every = np.full((len(positions), max(1, run.depth)), empty, values.dtype)
    every[place[place >= 0], : run.depth] = values[place >= 0]
    return every


def _ranks(rows: Rows, query: npt.NDArray[np.int64], row: Rows) -> npt.NDArray[np.int64]:
    """Where each judged document stands in the ranking of its query, from 0; -1 where it does not.

    One judgement of every query is looked for at a time. Comparing a whole ranking with one document is so
    cheap that sorting pays only for deep pools.
    """
    if len(row) > 40 * len(rows):
        return _ranks_by_sorting(rows, query, row)
    asked = np.where(row >= 0, row, np.int32(-2))
    rank = np.full(len(row), -1, np.int64)
    count = np.bincount(query, minlength=len(rows))
    first = np.cumsum(count) - count
    for turn in range(int(count.max(initial=0))):
        judged = np.flatnonzero(count > turn)
        lines = rows if len(judged) == len(rows) else rows[judged]
        here = first[judged] + turn
        hit = np.flatnonzero(lines == asked[here, np.newaxis])
        rank[here[hit // rows.shape[1]]] = hit % rows.shape[1]
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
    """Bits of the parts that each place covers, that the collection lists and that each judged document covers.

    A query that the collection does not list has one part, any document that answers it.
    """
    if not qrels.parts:
        return None, None, None
    bits = qrels.part_bits
    covering = np.zeros((len(qrels.judged_queries), int(where[1].max(initial=-1)) + 1), np.uint64)
    covering[where] = bits
    covers = np.zeros(shape, np.uint64)
    covers[at] = bits[found]
    return covers, qrels.listed_parts, covering
