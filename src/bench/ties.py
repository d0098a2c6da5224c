"""What the order of equal scores decides: a measure expected over all orders of them, at the worst and at the best.

A run settles ties by document id, so its figures are one draw among many. McSherry and Najork (2008) give the
mean over all draws in closed form; the worst and the best put the gains inside each group of equal scores in
rising and in falling order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bench.evaluate import counts
from bench.gains import EMPTY, NEGATIVE, Array, Gains
from bench.join import aligned, join
from bench.measure import Measure
from bench.metrics import dcg, ratio
from bench.qrels import Qrels
from bench.runs import Run

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ties:
    """The gains of a run with the groups of equal scores that its places belong to, one row a judged query."""

    gains: Gains
    start: Places
    """The first place of the group of each place, from 0, [q, depth]."""
    size: Places
    """How many places the group of each place has, [q, depth]."""
    full: Flags
    """Whether the list was cut at the depth of the run, [q]: what was cut off may equal its last score."""
    _kept: dict[float, Array] = field(default_factory=dict, init=False, repr=False)

    def expected(self, measure: Measure, k: int) -> Array | None:
        """The mean over all orders of equal scores, [q], NaN where a query is left out; None where not offered.

        Offered for P, R, RR, nDCG (both gains), AP, Success, F1, Rprec and RBP.
        """
        formula = EXPECTED.get(measure.name)
        if formula is None:
            return None
        return self._replaced(measure, k, lambda part: formula(part, k, measure))

    def lowest(self, measure: Measure, k: int) -> Array | None:
        """The least over all orders of equal scores, [q], NaN where a query is left out; None where not offered.

        Offered for the measures that rise whenever a better document moves up: all but nDCG_retrieved and
        ContextPrecision, whose ideal moves along, and those that read the parts of a collection that has some.
        """
        return self._extreme(
            measure, k, lambda part: part._judged_last if measure.name == "judged" else part._rising
        )

    def highest(self, measure: Measure, k: int) -> Array | None:
        """The most over all orders of equal scores; otherwise as `lowest`."""
        return self._extreme(
            measure, k, lambda part: part._judged_first if measure.name == "judged" else part._falling
        )

    def open(self, k: int) -> Flags:
        """Where a group of equal scores that is cut off at the end of the stored list begins within k, [q].

        What is said of such a query holds for the stored documents alone; a search one place deeper tells more.
        """
        return self.full & (self.size[:, -1] > 1) & (self.start[:, -1] < k)

    def decisive(self, k: int) -> Flags:
        """Where the order of equal scores can change nDCG@k, and so where it can change any of the lenses, [q]."""
        ranked = self.gains.ranked
        mixed = (ranked[:, 1:] != ranked[:, :-1]) & (self.start[:, 1:] == self.start[:, :-1])
        decides = (mixed & (self.start[:, 1:] < k)).any(axis=1)
        return np.asarray(decides & (self.gains.total() > 0))

    def mean_within(self, values: npt.ArrayLike) -> Array:
        """The mean of what the places hold over the group of each, [q, depth]."""
        places = np.asarray(values, np.float64)
        first = np.flatnonzero(self.start == np.arange(self.start.shape[1]))
        sums = np.add.reduceat(places.ravel(), first)
        sizes = np.diff(first, append=places.size)
        return np.repeat(sums / sizes, sizes).reshape(places.shape)

    def share(self, rel: float) -> Array:
        """The probability that each place holds a relevant document, [q, depth]."""
        if rel not in self._kept:
            self._kept[rel] = self.mean_within(self.gains.relevant(rel=rel))
        return self._kept[rel]

    def _extreme(self, measure: Measure, k: int, ordered: Callable[[Ties], Gains]) -> Array | None:
        of_parts = measure.name in _OF_PARTS and self.gains.covers is not None
        if measure.name in _NOT_MONOTONE or of_parts:
            return None
        return self._replaced(measure, k, lambda part: measure(ordered(part), k))

    def _replaced(self, measure: Measure, k: int, compute: Callable[[Ties], Array]) -> Array:
        """The measure itself, and what is computed for the queries in which an order could matter."""
        rows, part = self._mixed
        values = measure(self.gains, k).copy()
        values[rows] = compute(part)
        return np.where(counts(measure, self.gains), values, np.nan)

    @cached_property
    def _mixed(self) -> tuple[Places, Ties]:
        """The queries with a group whose places are not all alike."""
        ranked, judged = self.gains.ranked, self.gains.status >= NEGATIVE
        unlike = (ranked[:, 1:] != ranked[:, :-1]) | (judged[:, 1:] != judged[:, :-1])
        rows = np.flatnonzero((unlike & (self.start[:, 1:] == self.start[:, :-1])).any(axis=1))
        gains = Gains(ranked[rows], self.gains.status[rows], self.gains.ideal[rows], self.gains.max_grade)
        return rows, Ties(gains, self.start[rows], self.size[rows], self.full[rows])

    @cached_property
    def _rising(self) -> Gains:
        return self._sorted(self.gains.ranked)

    @cached_property
    def _falling(self) -> Gains:
        return self._sorted(-self.gains.ranked)

    @cached_property
    def _judged_last(self) -> Gains:
        return self._sorted(self.gains.status >= NEGATIVE)

    @cached_property
    def _judged_first(self) -> Gains:
        return self._sorted(self.gains.status < NEGATIVE)

    def _sorted(self, key: npt.NDArray[np.generic]) -> Gains:
        """The gains with the places of each group in the order of a key, rising."""
        order = np.lexsort((key, self.start), axis=-1)
        return replace(
            self.gains,
            ranked=np.take_along_axis(self.gains.ranked, order, -1),
            status=np.take_along_axis(self.gains.status, order, -1),
        )


def ties(run: Run, qrels: Qrels, *, max_grade: float | None = None) -> Ties:
    """The groups of equal scores of a run, one row a judged query, ascending; scores are compared as float64."""
    gains = join(run, qrels, max_grade=max_grade)
    scores = aligned(run.scores, run, qrels, empty=-np.inf)
    there = gains.status != EMPTY
    new = np.ones(there.shape, bool)
    new[:, 1:] = (scores[:, 1:] != scores[:, :-1]) | ~there[:, 1:]
    start = np.maximum.accumulate(np.where(new, np.arange(new.shape[1]), 0), axis=1)
    first = np.flatnonzero(new)
    sizes = np.diff(first, append=new.size)
    size = np.repeat(sizes, sizes).reshape(new.shape)
    returned = there.sum(axis=1)
    full = (returned == run.depth) & (returned > 0) & (returned < len(run.docs))
    return Ties(gains, start, size, full)


_NOT_MONOTONE = ("ndcg_retrieved", "context_precision")
_OF_PARTS = ("complete", "part_recall", "alpha_ndcg")


def _found(ties: Ties, k: int, measure: Measure) -> Array:
    return np.asarray(ties.share(measure.rel)[:, :k].sum(axis=1))


def _precision(ties: Ties, k: int, measure: Measure) -> Array:
    return _found(ties, k, measure) / k


def _recall(ties: Ties, k: int, measure: Measure) -> Array:
    return ratio(_found(ties, k, measure), ties.gains.total(rel=measure.rel))


def _f1(ties: Ties, k: int, measure: Measure) -> Array:
    return ratio(2 * _found(ties, k, measure), k + ties.gains.total(rel=measure.rel))


def _r_precision(ties: Ties, _k: int, measure: Measure) -> Array:
    total = ties.gains.total(rel=measure.rel)
    within = np.arange(1, ties.start.shape[1] + 1) <= total[:, np.newaxis]
    return ratio((ties.share(measure.rel) * within).sum(axis=1), total)


def _rbp(ties: Ties, k: int, measure: Measure) -> Array:
    p = float(dict(measure.parameters)["p"])
    share = ties.share(measure.rel)[:, :k]
    return np.asarray((1 - p) * (share @ p ** np.arange(share.shape[1])))


def _ndcg(ties: Ties, k: int, _measure: Measure) -> Array:
    gains = ties.gains
    return ratio(dcg(ties.mean_within(gains.ranked), k), dcg(np.maximum(gains.ideal, 0), k))


def _ndcg_exp(ties: Ties, k: int, _measure: Measure) -> Array:
    gains = ties.gains
    expected = ties.mean_within(np.exp2(gains.ranked) - 1)
    return ratio(dcg(expected, k), dcg(np.exp2(np.maximum(gains.ideal, 0)) - 1, k))


def _mrr(ties: Ties, k: int, measure: Measure) -> Array:
    none_before, first = _first_relevant(ties, measure)
    reached = (none_before * first)[:, :k]
    return np.asarray(reached @ (1.0 / np.arange(1, reached.shape[1] + 1)))


def _success(ties: Ties, k: int, measure: Measure) -> Array:
    none_before, first = _first_relevant(ties, measure)
    return np.asarray((none_before * first)[:, :k].sum(axis=1))


def _first_relevant(ties: Ties, measure: Measure) -> tuple[Array, Array]:
    """The probability that nothing above a place is relevant, and then that the place is, [q, depth] each."""
    relevant = ties.share(measure.rel) * ties.size
    left = ties.size - (np.arange(ties.size.shape[1]) - ties.start)
    first = np.minimum(1.0, np.rint(relevant) / left)
    none = np.cumprod(1 - first, axis=1)
    return np.concatenate([np.ones_like(none[:, :1]), none[:, :-1]], axis=1), first


def _ap(ties: Ties, k: int, measure: Measure) -> Array:
    """Each relevant place counts what stands above its group, itself, and its share of the group above it."""
    relevant = ties.gains.relevant(rel=measure.rel)
    share = ties.share(measure.rel)
    place = np.arange(relevant.shape[1])
    before: Array = np.take_along_axis(np.cumsum(relevant, axis=1, dtype=float) - relevant, ties.start, 1)
    others = ratio(np.rint(share * ties.size) - 1, ties.size - 1)
    precision = (before + 1 + (place - ties.start) * others) / (place + 1)
    return ratio((share * precision)[:, :k].sum(axis=1), ties.gains.total(rel=measure.rel))


EXPECTED: Mapping[str, Callable[[Ties, int, Measure], Array]] = {
    "precision": _precision,
    "recall": _recall,
    "mrr": _mrr,
    "ndcg": _ndcg,
    "ndcg_exp": _ndcg_exp,
    "ap": _ap,
    "success": _success,
    "f1": _f1,
    "r_precision": _r_precision,
    "rbp": _rbp,
}
"""The closed forms, by measure: those of McSherry and Najork (2008), and what is linear in the relevant places."""
