"""Whether a difference between two systems is more than chance: paired randomisation, and corrections for many tests.

If two systems were alike, which of them a value came from would be a matter of names: every difference could as
well have the other sign (Fisher 1935; for retrieval Smucker, Allan and Carterette 2007). So the observed mean
difference is held against those after the signs of whole needs are flipped: queries that say the same thing
share a need and flip together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.gains import Array
from bench.statistics.resampling import flips, need_codes, need_sums

EXACT = 20
"""Up to so many differing needs every pattern of signs is enumerated."""
FLIPS = 10_000
"""The fewest random flips; a large family takes more, so that its corrected p can become small enough."""
TOLERANCE = 1e-10
"""Sums of floats that differ by less than this share of their size are equal: 0.1 + 0.2 - 0.3 is no difference."""

_BLOCK = 4_000_000


@dataclass(frozen=True)
class PairedTest:
    """Two systems over the same queries, and how well chance alone explains their difference."""

    difference: float
    """The mean over the queries of the first minus the second, NaN without a query."""
    p: float
    """Two-sided: how often flipped signs give a mean at least as far from 0. 1 where nothing differs."""
    queries: int
    """Queries with a value from both."""
    left_out: int
    """Queries without a value from one of them."""
    needs: int
    non_zero: int
    """Needs whose differences do not add up to 0: the others say nothing, and are dropped."""
    wins: int
    """Queries that the first does better."""
    ties: int
    losses: int
    method: str
    """How p was computed, in words."""
    note: str
    """What a reader must know beside p, in a sentence; empty where there is nothing."""


def paired_test(
    a: Array, b: Array, needs: Sequence[str], *, family: int = 1, alpha: float = 0.05, seed: int = 0
) -> PairedTest:
    """The paired randomisation test of two systems: values [q] of the same queries, NaN where there is none.

    `family` is how many tests will be corrected together at the level `alpha`; both only decide how many flips
    are drawn where there are too many patterns of signs to take them all.
    """
    return paired_tests((a - b)[:, np.newaxis], needs, family=family, alpha=alpha, seed=seed)[0]


def paired_tests(
    differences: Array, needs: Sequence[str], *, family: int | None = None, alpha: float = 0.05, seed: int = 0
) -> tuple[PairedTest, ...]:
    """One test a column of differences [q, pairs], NaN where one of the two has no value; see `paired_test`.

    All columns share the same flips, by default as many as a family of all of them takes.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is between 0 and 1, not {alpha}")
    family = differences.shape[1] if family is None else family
    sums, sizes = need_sums(differences, need_codes(needs))
    near_zero = TOLERANCE * np.maximum(1.0, np.nanmax(np.abs(differences), axis=0, initial=0.0))
    sums = np.where(np.abs(sums) <= near_zero, 0.0, sums)
    non_zero = np.count_nonzero(sums, axis=0)
    sampled = non_zero > EXACT
    count = flips_for(family, alpha=alpha)
    p = np.ones(len(non_zero))
    p[sampled] = _sampled(sums[:, sampled], count, seed=seed)
    for column in np.flatnonzero(~sampled):
        p[column] = _exact(sums[sums[:, column] != 0, column])
    present = (sizes > 0).sum(axis=0)
    return tuple(
        _told(
            differences[:, i],
            needs=int(present[i]),
            non_zero=int(non_zero[i]),
            p=float(p[i]),
            near_zero=float(near_zero[i]),
            count=count,
            alpha=alpha,
        )
        for i in range(len(p))
    )


def flips_for(family: int, *, alpha: float = 0.05) -> int:
    """How many random flips a family of tests takes for its smallest corrected p to be well under alpha."""
    return max(FLIPS, math.ceil(100 * family / alpha))


def flipped_sums(sums: Array, count: int, *, seed: int = 0) -> Iterator[Array]:
    """The sums [needs, cells] added up under `count` random signs of the needs, [block, cells] at a time."""
    step = max(1, _BLOCK // max(1, *sums.shape))
    for block, start in enumerate(range(0, count, step)):
        signs = flips(len(sums), count=min(step, count - start), seed=(seed, block))
        yield signs.astype(np.float64) @ sums


def holm(p: Array) -> Array:
    """p corrected for being among many, so that alpha bounds the chance of any false claim (Holm 1979).

    A NaN is no test: it stays NaN and is not counted.
    """
    return _corrected(p, _step_down)


def benjamini_hochberg(p: Array) -> Array:
    """p corrected so that alpha bounds the share of false claims among all claims (Benjamini and Hochberg 1995).

    A NaN is no test: it stays NaN and is not counted.
    """
    return _corrected(p, _step_up)


def _step_down(ordered: Array, at_most: Array) -> Array:
    """Each p times how many are not smaller, never below what stands before it."""
    smaller = np.concatenate([[0], at_most[:-1]])
    return np.asarray(np.maximum.accumulate((at_most[-1] - smaller) * ordered))


def _step_up(ordered: Array, at_most: Array) -> Array:
    """Each p over the share of those that are not larger, never above what stands behind it."""
    return np.asarray(np.minimum.accumulate((ordered * at_most[-1] / at_most)[::-1])[::-1])


def _corrected(p: Array, step: Callable[[Array, Array], Array]) -> Array:
    """Corrected by a function of the distinct p, ascending, and how many p are at most so large."""
    corrected = np.full(np.shape(p), np.nan)
    counted = ~np.isnan(p)
    if counted.any():
        ordered, place, alike = np.unique(p[counted], return_inverse=True, return_counts=True)
        corrected[counted] = np.minimum(step(ordered, np.cumsum(alike)), 1.0)[place]
    return corrected


def _exact(sums: Array) -> float:
    """The share of all patterns of signs whose sum is at least as far from 0 as that of these sums [needs].

    Every pattern is one of the first half of the needs beside one of the second: of two sorted lists, so that
    2^20 patterns cost 2^10 look-ups.
    """
    bar = abs(sums.sum()) - TOLERANCE * np.abs(sums).sum()
    if bar <= 0:
        return 1.0
    first, second = (np.sort(_all_signs(half)) for half in np.array_split(sums, 2))
    above = len(first) - np.searchsorted(first, bar - second, side="left")
    below = np.searchsorted(first, -bar - second, side="right")
    return float((above.sum() + below.sum()) / 2 ** len(sums))


def _all_signs(sums: Array) -> Array:
    """The totals of the sums under every pattern of signs, [2 ** needs]."""
    totals = np.zeros(1)
    for one in sums:
        totals = np.concatenate([totals - one, totals + one])
    return totals


def _sampled(sums: Array, count: int, *, seed: int) -> Array:
    """(b + 1) / (m + 1) of each column of sums [needs, pairs]: the observed signs are one pattern among m + 1."""
    as_far = np.zeros(sums.shape[1])
    bar = np.abs(sums.sum(axis=0)) - TOLERANCE * np.abs(sums).sum(axis=0)
    if len(as_far):
        for totals in flipped_sums(sums, count, seed=seed):
            as_far += (np.abs(totals) >= bar).sum(axis=0)
    return np.asarray((as_far + 1) / (count + 1))


def _told(
    differences: Array, *, needs: int, non_zero: int, p: float, near_zero: float, count: int, alpha: float
) -> PairedTest:
    """The test with what there is to say of it."""
    known = differences[~np.isnan(differences)]
    wins, losses = int((known > near_zero).sum()), int((known < -near_zero).sum())
    return PairedTest(
        difference=float(known.mean()) if len(known) else math.nan,
        p=p,
        queries=len(known),
        left_out=len(differences) - len(known),
        needs=needs,
        non_zero=non_zero,
        wins=wins,
        ties=len(known) - wins - losses,
        losses=losses,
        method=_method(non_zero, count),
        note=_note(known, non_zero, near_zero, alpha),
    )


def _method(non_zero: int, count: int) -> str:
    if not non_zero:
        return "no difference"
    if non_zero <= EXACT:
        return f"paired randomisation, exact over the {2**non_zero:,} patterns of signs"
    return f"paired randomisation, {count:,} random flips of signs"


def _note(known: Array, non_zero: int, near_zero: float, alpha: float) -> str:
    if not len(known):
        return "no query has a value from both"
    if not (np.abs(known) > near_zero).any():
        return "no difference: both have the same value on every query"
    if not non_zero:
        return "no difference: what one wins on a query it loses on another of the same need"
    if 2 / 2**non_zero > alpha:
        return (
            f"no result can be significant: only {non_zero} need{'s differ' if non_zero > 1 else ' differs'}"
        )
    if np.ptp(known) <= near_zero:
        return (
            f"zero variance: every query differs by the same {known[0]:+.3f}, as if a constant had been added"
        )
    return ""
