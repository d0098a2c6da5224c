"""Which judgement to ask for next: the pair whose label would narrow the bounds of a difference most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.measure import Measure
from bench.unjudged.bounds import MOST, ROUNDING
from bench.unjudged.stakes import Stakes, counted, stakes
from bench.unjudged.world import Standing, World

AT_ONCE = 1 << 16
"""How many labels are tried at a time, over the documents in reach: bounds the memory."""


@dataclass(frozen=True)
class Pair:
    """An unjudged pair, and by how much its label narrows the bounds of the mean difference."""

    query_id: str
    doc_id: str
    narrows: float


def label_next(
    measure: Measure, world: World, a: Standing, b: Standing, *, k: int, limit: int = 100
) -> list[Pair]:
    """The unjudged pairs whose labels narrow the bounds of the mean of A - B at k most, the best first.

    What a label narrows is the mean over the two answers at the ends, not relevant and the top grade: no label
    can widen the bounds, and one that narrows nothing is not listed. Equal ones come by query and document.
    Offered for P, R, RR and nDCG (after Carterette, Allan and Sitaraman 2006).
    """
    at_stake, rows = stakes(a, b, k, rel=measure.rel)
    queries = counted(a, rel=measure.rel)
    query, column = np.nonzero(rows >= 0)
    beyond = np.flatnonzero(at_stake.outside > 0)
    narrowed = _narrowed(
        measure, at_stake, np.append(query, beyond), np.append(column, np.full(len(beyond), -1))
    )
    narrowed /= max(1, len(queries))
    place = np.append(query, beyond)
    asked: list[Pair] = []
    for i in sorted(np.flatnonzero(narrowed > 0), key=lambda i: -narrowed[i]):
        if len(asked) >= limit and narrowed[i] < asked[-1].narrows - ROUNDING:
            break
        if i < len(query):
            docs = rows[query[i], column[i]][np.newaxis]
        else:
            docs = np.setdiff1d(world.documents(int(queries[place[i]])), rows[place[i]])[-limit:]
        name = world.qrels.judged_queries[queries[place[i]]]
        asked += [Pair(name, world.docs[int(doc)], float(narrowed[i])) for doc in docs]
    return sorted(asked, key=lambda one: (-round(one.narrows, 12), one.query_id, one.doc_id))[:limit]


def _narrowed(
    measure: Measure, s: Stakes, query: npt.NDArray[np.int64], column: npt.NDArray[np.int64]
) -> Array:
    """By how much the label of a document in reach (or of one outside, column -1) narrows the bounds of its query."""
    before = _width(measure, s)
    narrowed = np.empty(len(query))
    for part in _parts(len(query), AT_ONCE // max(1, s.rank_a.shape[1])):
        asked = _rows(s, query[part])
        answers = _answered(asked, column[part])
        after = np.mean([_width(measure, answer) for answer in answers], axis=0)
        narrowed[part] = before[query[part]] - after
    # What rounding leaves is no reason to ask for a label.
    return np.where(narrowed > ROUNDING, narrowed, 0.0)


def _width(measure: Measure, s: Stakes) -> Array:
    most = MOST[measure.name]
    return most(s) + most(s.swapped())


def _parts(count: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    for start in range(0, count, size):
        yield slice(start, start + size)


def _rows(s: Stakes, query: npt.NDArray[np.int64]) -> Stakes:
    """The stakes of these queries, each as often as it is named, with one more column that holds no document."""
    chosen: dict[str, Any] = {
        name: value[query] for name, value in vars(s).items() if isinstance(value, np.ndarray)
    }
    for name in ("rank_a", "rank_b"):
        chosen[name] = np.concatenate([chosen[name], np.full((len(query), 1), np.inf)], axis=1)
    return replace(s, **chosen)


def _answered(s: Stakes, column: npt.NDArray[np.int64]) -> tuple[Stakes, Stakes]:
    """The stakes once the document of a column (the last: one outside) is judged not relevant, and of the top grade."""
    at = (np.arange(len(column)), column)
    here_a, here_b = s.rank_a[at], s.rank_b[at]
    rank_a, rank_b = s.rank_a.copy(), s.rank_b.copy()
    rank_a[at] = rank_b[at] = np.inf
    nothing = replace(s, rank_a=rank_a, rank_b=rank_b, outside=s.outside - (column < 0))
    relevant = s.top >= s.rel
    topped = np.concatenate([s.ideal, np.full((len(column), 1), s.top)], axis=1)
    return nothing, replace(
        nothing,
        found_a=s.found_a + (np.isfinite(here_a) & relevant),
        found_b=s.found_b + (np.isfinite(here_b) & relevant),
        total=s.total + relevant,
        first_a=np.maximum(s.first_a, relevant / here_a),
        first_b=np.maximum(s.first_b, relevant / here_b),
        dcg_a=s.dcg_a + s.top / np.log2(here_a + 1),
        dcg_b=s.dcg_b + s.top / np.log2(here_b + 1),
        ideal=-np.sort(-topped, axis=1)[:, : s.k],
    )
