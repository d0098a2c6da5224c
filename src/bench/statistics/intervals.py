"""Intervals of means and of differences: all cells of a collection at once, each by the procedure that suits it.

| what | interval |
| --- | --- |
| a mean | BCa bootstrap (Efron 1987) |
| a mean of zeros and ones | Wilson (1927), on the effective number of queries |
| a difference, below 80 needs | Student's t, with the standard error between needs |
| a difference, from 80 needs on | BCa bootstrap |
| all needs alike | Clopper and Pearson (1934), on the share of needs at that value |
| all but a few needs alike, if no mean of zeros and ones | Learned-Miller and Thomas (2019), which goes on from that |
| a percentile, of latency | bootstrap percentiles |
| below 10 needs | none |

The unit is the need: queries of one need are drawn together, and make one degree of freedom. NaN leaves a query
out. Where a value has hardly ever been seen to differ, the spread of the sample says nothing of what the next
needs may do. Clopper and Pearson, and Learned-Miller and Thomas, therefore ask how many may lie at the end of the
measure's range; any other would call a k or a reranker safe because no query has failed yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from bench.gains import Array
from bench.statistics.clusters import ALIKE, Clusters
from bench.statistics.resampling import Resamples

LEVEL = 0.95
FEWEST = 10
"""With fewer needs there is no interval."""
BOOTSTRAP_FROM = 80
"""From so many needs on a difference has a bootstrap interval, below it Student's."""
FEW = 6
"""So many needs must differ from the commonest value before a sample's spread is believed.

Fewer non-zero differences can't be significant by the signs either: 2 / 2^5 is above 0.05.
"""
MEASURE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
"""The least and the most that a measure, and a difference of two, can be."""

BCA, STUDENT, WILSON = "BCa", "t", "Wilson"
CLOPPER_PEARSON, LEARNED_MILLER = "Clopper-Pearson", "Learned-Miller-Thomas"
PERCENTILE = "bootstrap percentiles"

_DRAWS = 10_000


@dataclass(frozen=True)
class Interval:
    """Where the mean may lie over needs like these."""

    lo: float
    hi: float
    method: str
    """In words, as the constants of this module."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals of several cells [cells]; NaN and an empty method where a cell has none."""

    lo: Array
    hi: Array
    methods: tuple[str, ...]

    def at(self, cell: int) -> Interval | None:
        """The interval of one cell, None where it has too few needs."""
        if not self.methods[cell]:
            return None
        return Interval(float(self.lo[cell]), float(self.hi[cell]), self.methods[cell])


def mean_interval(values: Array, resamples: Resamples, *, level: float = LEVEL) -> Interval | None:
    """The interval of the mean of a measure, values [q] in 0..1."""
    return mean_intervals(values[:, np.newaxis], resamples, level=level).at(0)


def mean_intervals(values: Array, resamples: Resamples, *, level: float = LEVEL) -> Intervals:
    """The intervals of the means of cells, values [q, cells] in 0..1.

    Zeros and ones are a share whatever the measure: Complete always is one, P@1 too, and R@k where R is 1.
    """
    clusters = Clusters.of(values, resamples.codes)
    shares = (np.isin(values, (0.0, 1.0)) | np.isnan(values)).all(axis=0)
    methods = np.select(
        [clusters.unlike == 0, shares, clusters.unlike < FEW], [CLOPPER_PEARSON, WILSON, LEARNED_MILLER], BCA
    )
    return _intervals(clusters, methods, values, resamples, ends=MEASURE, level=level)


def difference_interval(differences: Array, resamples: Resamples, *, level: float = LEVEL) -> Interval | None:
    """The interval of the mean difference of two systems or two k, differences [q] in -1..1."""
    return difference_intervals(differences[:, np.newaxis], resamples, level=level).at(0)


def difference_intervals(differences: Array, resamples: Resamples, *, level: float = LEVEL) -> Intervals:
    """The intervals of mean differences, [q, pairs] in -1..1, each pair for itself."""
    clusters = Clusters.of(differences, resamples.codes)
    methods = np.select(
        [clusters.unlike == 0, clusters.unlike < FEW, clusters.needs < BOOTSTRAP_FROM],
        [CLOPPER_PEARSON, LEARNED_MILLER, STUDENT],
        BCA,
    )
    return _intervals(clusters, methods, differences, resamples, ends=DIFFERENCE, level=level)


def lower_bound(differences: Array, resamples: Resamples, *, level: float = LEVEL) -> float | None:
    """The one-sided bound: at this level the mean difference is above it; None below 10 needs."""
    interval = difference_interval(differences, resamples, level=2 * level - 1)
    return None if interval is None else interval.lo


def percentile_intervals(
    values: Array, resamples: Resamples, *, percents: Sequence[float], level: float = LEVEL
) -> Intervals:
    """The intervals of percentiles (0..100) of values [q] of any unit, no NaN: the percentiles of resampled ones.

    Here the clusters need not be needs: where values are calls, they are the calls of a query.
    """
    tail = 100 * (1 - level) / 2
    if resamples.needs < FEWEST:
        none = np.full(len(percents), np.nan)
        return Intervals(none, none, ("",) * len(percents))
    lo, hi = np.percentile(resamples.percentiles(values, percents), [tail, 100 - tail], axis=0)
    return Intervals(lo, hi, (PERCENTILE,) * len(percents))


def _intervals(
    clusters: Clusters,
    methods: npt.NDArray[np.str_],
    values: Array,
    resamples: Resamples,
    *,
    ends: tuple[float, float],
    level: float,
) -> Intervals:
    """Every cell by its method; `ends` are the least and the most that a value can be."""
    methods = np.where(clusters.needs < FEWEST, "", methods)
    lo, hi, tail = np.full(len(methods), np.nan), np.full(len(methods), np.nan), (1 - level) / 2
    for method in set(methods.tolist()) - {""}:
        chosen = methods == method
        own = clusters.of_cells(chosen)
        if method == BCA:
            lo[chosen], hi[chosen] = _bca(own, resamples.means(values[:, chosen]), tail)
        elif method == STUDENT:
            lo[chosen], hi[chosen] = _student(own, tail)
        elif method == WILSON:
            lo[chosen], hi[chosen] = _wilson(own, tail)
        elif method == CLOPPER_PEARSON:
            lo[chosen], hi[chosen] = _clopper_pearson(own, ends, tail)
        else:
            bounds = [_learned_miller(own, cell, ends, tail) for cell in range(own.sums.shape[1])]
            lo[chosen], hi[chosen] = np.transpose(bounds)
    return Intervals(lo, hi, tuple(methods.tolist()))


Ends = tuple[Array, Array]


def _student(clusters: Clusters, tail: float) -> Ends:
    half = stdtrit(clusters.needs - 1, 1 - tail) * clusters.standard_errors
    return clusters.means - half, clusters.means + half


def _wilson(clusters: Clusters, tail: float) -> Ends:
    """Of as many independent queries as would leave the share as uncertain as these needs do, at most all of them.

    That is their number over the design effect (Kish 1965; for shares Korn and Graubard 1998).
    """
    share, z2 = clusters.means, ndtri(tail) ** 2
    variance = share * (1 - share)
    design_effect = np.maximum(1.0, clusters.scatter / (clusters.queries * variance))
    effective = clusters.queries / design_effect
    middle = (share + z2 / (2 * effective)) / (1 + z2 / effective)
    half = np.sqrt(z2 / effective * (variance + z2 / (4 * effective))) / (1 + z2 / effective)
    return middle - half, middle + half


def _clopper_pearson(clusters: Clusters, ends: tuple[float, float], tail: float) -> Ends:
    """All needs have one value: so many may have another, all at one end, before that becomes improbable."""
    others = 1 - tail ** (1 / clusters.needs)
    return (
        clusters.common - others * (clusters.common - ends[0]),
        clusters.common + others * (ends[1] - clusters.common),
    )


def _learned_miller(
    clusters: Clusters, cell: int, ends: tuple[float, float], tail: float
) -> tuple[float, float]:
    """Needs weigh at random, as the gaps between uniform numbers do, and one unseen at the end weighs with them.

    With one query a need and values 0 and 1 this is Clopper and Pearson's.
    """
    random = np.random.default_rng(0)
    unlike = np.abs(clusters.of_needs[:, cell] - clusters.common[cell]) > ALIKE
    alike, size = clusters.needs[cell] - unlike.sum(), clusters.queries[cell] / clusters.needs[cell]
    weights = random.standard_exponential((_DRAWS, unlike.sum()))
    rest = random.standard_gamma(alike, _DRAWS) * (clusters.sizes[~unlike, cell].sum() / alike)
    unseen = random.standard_exponential(_DRAWS) * size
    total = weights @ clusters.sums[unlike, cell] + rest * clusters.common[cell]
    weight = weights @ clusters.sizes[unlike, cell] + rest + unseen
    lo, hi = ((total + unseen * end) / weight for end in ends)
    return float(np.quantile(lo, tail)), float(np.quantile(hi, 1 - tail))


def _bca(clusters: Clusters, means: Array, tail: float) -> Ends:
    """Percentiles of the means in resamples [resamples, cells], shifted for their bias and skewness."""
    ordered = np.sort(means.T, axis=1)  # NaN last
    drawn = (~np.isnan(ordered)).sum(axis=1)
    middle = clusters.means[:, np.newaxis]
    # What equals the mean counts half on either side, also where summing in another order moved its last bit.
    below = ((ordered < middle - ALIKE).sum(axis=1) + (ordered <= middle + ALIKE).sum(axis=1)) / 2
    bias, acceleration = ndtri(below / drawn), _acceleration(clusters)

    def end(tail: float) -> Array:
        moved = bias + ndtri(tail)
        place = ndtr(bias + moved / (1 - acceleration * moved)) * (drawn - 1)
        under = np.floor(place).astype(np.int64)
        over = np.minimum(under + 1, drawn - 1)
        low, high = (np.take_along_axis(ordered, at[:, np.newaxis], axis=1)[:, 0] for at in (under, over))
        return np.asarray(low + (place - under) * (high - low))

    return end(tail), end(1 - tail)


def _acceleration(clusters: Clusters) -> Array:
    """From the skewness of the means that leave out one need each, in closed form."""
    present = clusters.sizes > 0
    without = (clusters.sums.sum(axis=0) - clusters.sums) / (clusters.queries - clusters.sizes)
    centre = np.where(present, without, 0.0).sum(axis=0) / clusters.needs
    away = np.where(present, centre - without, 0.0)
    return np.asarray((away**3).sum(axis=0) / (6 * (away**2).sum(axis=0) ** 1.5))
