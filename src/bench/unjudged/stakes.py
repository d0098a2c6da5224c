"""What is known of two systems at a cut-off, and what the unjudged documents in reach could change of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.metrics import dcg, mrr
from bench.unjudged.world import Standing


@dataclass(frozen=True, eq=False)
class Stakes:
    """What is known of A and B at k and what unjudged documents could change, one row a query that counts."""

    k: int
    top: float
    """The highest grade that an unjudged document could get."""
    rel: float
    """The grade from which a document is relevant."""
    rank_a: Array
    """The rank of each unjudged document in the top k of A, inf where it does not stand there, [q, n]."""
    rank_b: Array
    """The same in B; a column in which both are inf holds no document."""
    outside: Array
    """How many unjudged documents stand in neither top k, [q]."""
    found_a: Array
    found_b: Array
    """Judged relevant documents in the top k, [q]."""
    total: Array
    """Judged relevant documents, [q]."""
    first_a: Array
    first_b: Array
    """1 / rank of the first judged relevant document within k, else 0, [q]."""
    dcg_a: Array
    dcg_b: Array
    ideal: Array
    """Gains of the judged documents, falling, [q, at most k]."""

    def swapped(self) -> Stakes:
        """The same for B - A."""
        return replace(
            self,
            rank_a=self.rank_b, rank_b=self.rank_a, found_a=self.found_b, found_b=self.found_a,
            first_a=self.first_b, first_b=self.first_a, dcg_a=self.dcg_b, dcg_b=self.dcg_a,
        )  # fmt: skip


def counted(run: Standing, *, rel: float) -> npt.NDArray[np.int64]:
    """The positions of the queries that count: those with a judged relevant document."""
    return np.flatnonzero(run.gains.total(rel=rel) > 0)


def stakes(a: Standing, b: Standing | None, k: int, *, rel: float) -> tuple[Stakes, npt.NDArray[np.int32]]:
    """What is at stake for the queries that count, and the document of each column of its ranks, -1 for none."""
    queries, gains = counted(a, rel=rel), a.gains
    rank_a, rank_b, rows = _ranks(a, b, k, queries)
    nothing = np.zeros(len(queries))

    def of(run: Standing | None, compute: Callable[[Standing], Array]) -> Array:
        return nothing if run is None else compute(run)[queries]

    def found(run: Standing) -> Array:
        return run.gains.found(k, rel=rel)

    def first(run: Standing) -> Array:
        return mrr.compute(run.gains, k, rel=rel)

    def reached(run: Standing) -> Array:
        return dcg(run.gains.ranked, k)

    return Stakes(
        k=k,
        top=gains.max_grade,
        rel=rel,
        rank_a=rank_a,
        rank_b=rank_b,
        outside=a.unjudged[queries] - (rows >= 0).sum(axis=1),
        found_a=of(a, found),
        found_b=of(b, found),
        total=gains.total(rel=rel)[queries],
        first_a=of(a, first),
        first_b=of(b, first),
        dcg_a=of(a, reached),
        dcg_b=of(b, reached),
        ideal=np.maximum(gains.ideal[queries, :k], 0),
    ), rows


def _ranks(
    a: Standing, b: Standing | None, k: int, queries: npt.NDArray[np.int64]
) -> tuple[Array, Array, npt.NDArray[np.int32]]:
    """The ranks in A and in B of the unjudged documents of either top k, and the documents, [q, n] each."""
    sides = [
        (np.where(run.possible[queries, :k], run.rows[queries, :k], -1), run)
        for run in (a, *([b] if b is not None else []))
    ]
    places = [np.broadcast_to(np.arange(1.0, rows.shape[1] + 1), rows.shape) for rows, _ in sides]
    if b is None:
        rows = sides[0][0]
        return np.where(rows >= 0, places[0], np.inf), np.full(rows.shape, np.inf), rows
    # Documents of both sides in one order, so that the same document of A and B stands side by side.
    rows = np.concatenate([rows for rows, _ in sides], axis=1)
    order = np.argsort(-rows, axis=1, kind="stable")[:, : int((rows >= 0).sum(axis=1).max(initial=0))]
    rows = np.take_along_axis(rows, order, 1)
    of_a = order < places[0].shape[1]
    rank = np.where(rows >= 0, np.take_along_axis(np.concatenate(places, axis=1), order, 1), np.inf)
    twice = np.zeros(rows.shape, bool)
    twice[:, 1:] = (rows[:, 1:] == rows[:, :-1]) & (rows[:, 1:] >= 0)
    rank_a, rank_b = np.where(of_a, rank, np.inf), np.where(of_a, np.inf, rank)
    rank_b[:, :-1] = np.where(twice[:, 1:], rank_b[:, 1:], rank_b[:, :-1])
    rank_b[twice] = np.inf
    return rank_a, rank_b, np.where(twice, -1, rows)
