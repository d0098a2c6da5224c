"""The values of cells, need by need: what intervals are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.statistics.resampling import need_sums

ALIKE = 1e-12
"""Means that differ by no more are alike."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sums by need [needs, cells], and what follows from them by cell [cells]. NaN has left queries out."""

    sums: Array
    """The sum of the values of each need."""
    sizes: Array
    """How many values those are."""

    @classmethod
    def of(cls, values: Array, codes: npt.NDArray[np.int64]) -> Clusters:
        """Those of values [q, cells] whose queries belong to these needs [q], by number from 0."""
        return cls(*need_sums(values, codes))

    def of_cells(self, chosen: npt.NDArray[np.bool_]) -> Clusters:
        """The same of the chosen cells alone."""
        return Clusters(self.sums[:, chosen], self.sizes[:, chosen])

    @cached_property
    def queries(self) -> Array:
        """How many queries count."""
        return np.asarray(self.sizes.sum(axis=0))

    @cached_property
    def needs(self) -> npt.NDArray[np.int64]:
        """How many needs those queries have."""
        return np.asarray((self.sizes > 0).sum(axis=0))

    @cached_property
    def means(self) -> Array:
        """The mean over queries, NaN where none counts."""
        return _divided(self.sums.sum(axis=0), self.queries)

    @cached_property
    def of_needs(self) -> Array:
        """The mean of each need, [needs, cells], NaN where none of its queries counts."""
        return _divided(self.sums, self.sizes)

    @cached_property
    def common(self) -> Array:
        """The median of the means of needs, the lower of two: the value that all but a few needs have, if any is."""
        ordered = np.sort(self.of_needs, axis=0)  # NaN last
        middle = np.maximum(self.needs - 1, 0) // 2
        return np.asarray(np.take_along_axis(ordered, middle[np.newaxis], axis=0)[0])

    @cached_property
    def unlike(self) -> npt.NDArray[np.int64]:
        """How many needs have another mean than `common`."""
        return np.asarray((np.abs(self.of_needs - self.common) > ALIKE).sum(axis=0))

    @cached_property
    def scatter(self) -> Array:
        """The sum over needs of (sum - mean * size)², that of the ratio estimator (Cochran 1977, chapter 6)."""
        return np.asarray(((self.sums - np.nan_to_num(self.means) * self.sizes) ** 2).sum(axis=0))

    @cached_property
    def standard_errors(self) -> Array:
        """Of the means, robust to clusters; with one query a need sd / sqrt(n). NaN below two needs."""
        drawn_from = _divided(self.needs, self.needs - 1)
        return _divided(np.sqrt(self.scatter * drawn_from), self.queries)


def _divided(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Array:
    """NaN where the denominator is 0."""
    upper, lower = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    quotient: Array = np.divide(upper, lower, out=np.full(lower.shape, np.nan), where=lower > 0)
    return quotient
