"""Which of many systems is best, and how far that can be told: the set, the share and the winner's honest score.

The best of many looks better than it is: it was lucky on these queries as well as good. So three things stand
beside its name: the systems that cannot be told from it, how often each comes out best when other queries are
drawn, and what the winner scores on queries that did not choose it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.gains import Array, Bits
from bench.statistics.intervals import FEWEST, Interval
from bench.statistics.resampling import Resamples, need_codes, need_sums
from bench.statistics.significance import TOLERANCE, flipped_sums, flips_for, holm

_PIECE = 500
"""How many flips are compared at a time."""


@dataclass(frozen=True, eq=False)
class BestSet:
    """The systems that cannot be told from the best; everything is in the order of the systems."""

    p: Array
    """That no system is better, by chance at least as far from it as observed, [systems]."""
    corrected: Array
    """The same, by Holm over all systems."""
    kept: Bits
    """Not rejected, [systems]; never empty."""
    queries: int
    left_out: int
    """Queries without a value from every system."""
    needs: int
    flips: int

    def sentence(self, names: Sequence[str]) -> str:
        """The set in words; `names` are those of the systems."""
        kept = [name for name, stays in zip(names, self.kept, strict=True) if stays]
        on = f"on {self.queries} queries ({self.needs} needs)"
        if len(kept) == 1:
            return f"{kept[0]} is the best of {len(names)} systems {on}"
        if len(kept) == len(names):
            return f"none of the {len(names)} systems can be told from the best {on}"
        return f"{len(kept)} of {len(names)} systems cannot be told from the best {on}: {', '.join(kept)}"


@dataclass(frozen=True)
class WinnerScore:
    """What the best system scores on queries that had no say in choosing it, with a conservative interval."""

    score: float
    interval: Interval | None
    """Percentiles over the resamples, 95 %; conservative: it covers more often. None below 10 needs."""
    apparent: float
    """The mean that the best system shows on all queries, which chose it."""
    queries: int
    left_out: int

    @property
    def sentence(self) -> str:
        """The score in words."""
        score = f"{self.score:.3f}"
        if self.interval:
            score += f" [{self.interval.lo:.3f}, {self.interval.hi:.3f}] (a conservative interval)"
        return (
            f"the best of these systems shows {self.apparent:.3f} on the queries that chose it; "
            f"chosen on some and scored on others, it has {score}"
        )


def best_set(values: Array, needs: Sequence[str], *, alpha: float = 0.05, seed: int = 0) -> BestSet:
    """The systems that cannot be told from the best, of values [q, systems], NaN where there is none.

    For each system, the largest t statistic by which another is better is held against its distribution when the
    signs of whole needs flip, all systems together (max-T: Westfall and Young 1993); Holm's correction over the
    systems. Only queries with a value from every system count. Raises ValueError where there is none.
    """
    shared = shared_values(values)
    known = ~np.isnan(shared[:, 0])
    if not known.any():
        raise ValueError("no query has a value from every system")
    sums, sizes = need_sums(shared, need_codes(needs))
    count = flips_for(values.shape[1], alpha=alpha)
    p = _max_t(sums[sizes[:, 0] > 0], count, seed=seed)
    corrected = holm(p)
    return BestSet(
        p=p,
        corrected=corrected,
        kept=np.asarray(corrected > alpha),
        queries=int(known.sum()),
        left_out=int((~known).sum()),
        needs=int((sizes[:, 0] > 0).sum()),
        flips=count,
    )


def best_share(values: Array, resamples: Resamples) -> Array:
    """How often each system of values [q, systems] has the best mean among the resamples, ties split, [systems].

    Not the probability that it is the best. Only queries with a value from every system count.
    """
    means = resamples.means(shared_values(values))
    return np.asarray(np.nanmean(_winners(means), axis=0))


def winner_score(values: Array, resamples: Resamples) -> WinnerScore:
    """What choosing the best of these systems is worth, of values [q, systems], NaN where there is none.

    In each resample the best on the drawn queries is scored on those left out (Tsamardinos, Greasidou and
    Borboudakis 2018: bootstrap bias corrected); systems tied for the best share their scores. Raises ValueError
    where no resample leaves a query out.
    """
    shared = shared_values(values)
    known = ~np.isnan(shared[:, 0])
    scores = (_winners(resamples.means(shared)) * resamples.out_of_bag_means(shared)).sum(axis=1)
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        raise ValueError("the winner's score takes at least two needs with a value from every system")
    lo, hi = (float(end) for end in np.quantile(scores, [0.025, 0.975]))
    enough = len(set(resamples.codes[known].tolist())) >= FEWEST
    return WinnerScore(
        score=float(scores.mean()),
        interval=Interval(lo, hi, "out-of-bag percentiles") if enough else None,
        apparent=float(shared[known].mean(axis=0).max()),
        queries=int(known.sum()),
        left_out=int((~known).sum()),
    )


def shared_values(values: Array) -> Array:
    """The values [q, systems] with NaN in the whole line of a query for which any system has none."""
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, values)


def _winners(means: Array) -> Array:
    """One shared out among the best of each line of means [resamples, systems]; NaN where a line has no means."""
    best = means.max(axis=1, keepdims=True)
    ties = (means >= best - TOLERANCE * np.abs(best)).astype(np.float64)
    return np.where(np.isnan(best), np.nan, ties / np.maximum(1, ties.sum(axis=1, keepdims=True)))


def _max_t(sums: Array, count: int, *, seed: int) -> Array:
    """(b + 1) / (m + 1) for each column of sums [needs, systems], of the largest t by which another is better.

    Flipping signs leaves the sum of squares Q of the n differences alone, so t = sqrt(n - 1) r / sqrt(1 - r²)
    with r = sum / sqrt(n Q) rises with the flipped sum / sqrt(Q): the standard deviation is computed anew for
    each flip without being computed, and one of 0 needs no special case. A system equal to this one everywhere
    has no t and is passed over.
    """
    centred = sums - sums.mean(axis=1, keepdims=True)
    weights = np.array([_weights(centred - centred[:, [i]]) for i in range(sums.shape[1])])
    observed = _largest(centred.sum(axis=0)[:, np.newaxis], weights)
    as_far = np.zeros(sums.shape[1])
    for totals in flipped_sums(centred, count, seed=seed):
        as_far += (_largest(np.ascontiguousarray(totals.T), weights) >= observed - TOLERANCE).sum(axis=1)
    return np.asarray((as_far + 1) / (count + 1))


def _weights(differences: Array) -> Array:
    """1 / sqrt(Q) of each column of differences [needs, systems], NaN where the column differs nowhere."""
    differ = np.abs(differences).max(axis=0) > TOLERANCE
    size = np.sqrt((differences**2).sum(axis=0))
    return np.asarray(np.divide(1.0, size, out=np.full(len(size), np.nan), where=differ))


def _largest(totals: Array, weights: Array) -> Array:
    """For each system the largest sum / sqrt(Q) of another minus it, [systems, flips]; -inf without another.

    `totals` are [systems, flips], `weights` [systems, systems]. In pieces that stay in the processor's cache.
    """
    largest = np.empty(totals.shape)
    for start in range(0, totals.shape[1], _PIECE):
        piece = np.ascontiguousarray(totals[:, start : start + _PIECE])
        for i, weight in enumerate(weights):
            t = (piece - piece[i]) * weight[:, np.newaxis]
            t[np.isnan(weight)] = -math.inf
            largest[i, start : start + _PIECE] = t.max(axis=0)
    return largest
