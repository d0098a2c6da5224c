"""Chance drawn by need: bootstrap resamples of the queries, and signs flipped, whole needs at a time.

Queries that say the same thing share a need. They are no independent witnesses, so they are drawn together
(the cluster bootstrap: Davison and Hinkley 1997, section 3.8) and flip together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.gains import Array

RESAMPLES = 10_000
"""How many resamples are drawn where nothing else is said and there are no more than 2 000 needs."""
FEWEST_RESAMPLES, MOST_DRAWN = 2_000, 20_000_000
"""Of more needs so many draws in all, though not fewer resamples: the intervals are narrow and slow to find."""

_BLOCK = 1_000_000
"""How many counts are unpacked to double precision at a time: 8 MB."""


@dataclass(frozen=True, eq=False)
class Resamples:
    """Needs drawn with replacement, as many as there are, over and over; one set serves every cell of a collection."""

    codes: npt.NDArray[np.int64]
    """The need of each query, by number from 0, [q]."""
    counts: npt.NDArray[np.uint8]
    """How often each need is drawn, [resamples, needs]."""

    @classmethod
    def of(cls, needs: Sequence[str], *, resamples: int | None = None, seed: int = 0) -> Resamples:
        """Resamples of queries with these needs, one need a query in the order of the values to come.

        Without a number there are as many as usual: 10 000, fewer of more than 2 000 needs, never under 2 000.
        The same needs, number and seed give the same resamples. Raises ValueError without a query.
        """
        codes = need_codes(needs)
        if not len(codes):
            raise ValueError("there is no query to resample")
        random, units = np.random.default_rng(seed), int(codes.max()) + 1
        if resamples is None:
            resamples = usual_number(units)
        counts = np.empty((resamples, units), np.uint8)
        for block in _blocks(resamples, units):
            size = block.stop - block.start
            drawn = random.integers(0, units, (size, units))
            drawn += units * np.arange(size)[:, np.newaxis]
            counts[block] = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        return cls(codes, counts)

    @property
    def needs(self) -> int:
        """How many needs there are."""
        return int(self.counts.shape[1])

    def means(self, values: Array) -> Array:
        """The mean over the drawn queries in each resample: [resamples, cells] of values [q, cells], or without cells.

        A query whose value is NaN is left out; a resample in which none is left has the mean NaN.
        """
        return self._weighted(values, lambda counts: counts)

    def out_of_bag_means(self, values: Array) -> Array:
        """The mean over the queries that a resample has not drawn, in the shapes of `means`."""
        return self._weighted(values, lambda counts: counts == 0)

    def percentiles(self, values: Array, percents: Sequence[float]) -> Array:
        """Percentiles (0..100, as numpy.percentile has them) of all drawn values [q], [resamples, percents]; no NaN."""
        distinct, place = np.unique(values, return_inverse=True)
        of_need = np.bincount(self.codes * len(distinct) + place, minlength=self.needs * len(distinct))
        held = of_need.reshape(self.needs, len(distinct)).astype(np.float64)
        found = np.empty((len(self.counts), len(percents)))
        for block in _blocks(len(self.counts), len(distinct)):
            upto = np.cumsum(self.counts[block].astype(np.float64) @ held, axis=1)
            for column, percent in enumerate(percents):
                at = (upto[:, -1] - 1) * percent / 100
                # The value at a position, from 0, is the first with more values up to it than that.
                low, high = (
                    distinct[(upto <= position[:, np.newaxis]).sum(axis=1)]
                    for position in (np.floor(at), np.ceil(at))
                )
                found[block, column] = low + (at - np.floor(at)) * (high - low)
        return found

    def _weighted(self, values: Array, weights: Callable[[npt.NDArray[np.uint8]], npt.NDArray[Any]]) -> Array:
        table = values.reshape(len(values), -1)
        sums, present = need_sums(table, self.codes)
        # Cells mostly leave out the same queries, so their denominators are few.
        patterns, of_cell = np.unique(present, axis=1, return_inverse=True)
        means = np.empty((len(self.counts), table.shape[1]))
        for block in _blocks(len(self.counts), self.needs):
            drawn = weights(self.counts[block]).astype(np.float64)
            sizes = (drawn @ patterns)[:, of_cell.ravel()]
            means[block] = np.divide(drawn @ sums, sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)
        return means.reshape(len(means), *values.shape[1:])


def usual_number(needs: int) -> int:
    """How many resamples of so many needs are drawn where nothing else is said."""
    return max(FEWEST_RESAMPLES, min(RESAMPLES, MOST_DRAWN // needs))


def need_codes(needs: Sequence[str]) -> npt.NDArray[np.int64]:
    """The needs by number from 0, in the order of their names, [q]."""
    number = {need: code for code, need in enumerate(sorted(set(needs)))}
    return np.array([number[need] for need in needs], np.int64)


def need_sums(values: Array, codes: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """The sum of the values of each need, and how many values those are; [needs, cells] of values [q, cells].

    A NaN is no value.
    """
    cells, units = values.shape[1], int(codes.max(initial=-1)) + 1
    place = (codes[:, np.newaxis] * cells + np.arange(cells)).ravel()
    present = ~np.isnan(values)
    sums = np.bincount(place, np.where(present, values, 0.0).ravel(), units * cells)
    sizes = np.bincount(place, present.ravel().astype(np.float64), units * cells)
    return np.asarray(sums.reshape(units, cells)), np.asarray(sizes.reshape(units, cells))


def flips(needs: int, *, count: int, seed: int | tuple[int, ...] = 0) -> npt.NDArray[np.int8]:
    """Random signs, -1 or 1, all queries of a need alike: [count, needs]."""
    bits = np.random.default_rng(seed).integers(0, 2, (count, needs), np.int8)
    return np.asarray(2 * bits - 1, np.int8)


def _blocks(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
