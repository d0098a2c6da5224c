"""How small a difference these queries can show, and how many more must be labelled to show a given one.

Computed from how much the differences scatter and how many needs there are, never from the difference that was
seen: power at the observed effect repeats the p-value and adds nothing (Hoenig and Heisey 2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from bench.gains import Array
from bench.statistics.intervals import FEW
from bench.statistics.resampling import flips, need_codes, need_sums
from bench.statistics.significance import TOLERANCE

POWER = 0.8
"""How often a difference of the smallest detectable size is to be found."""
SIMULATED_BELOW = 30
"""With fewer differing needs the t distribution is no good guide, and the test itself is simulated."""
SIMULATED_TO = 0.002
"""Below this level a simulation of reasonable length sees too little, and the formula stays."""
SIMULATIONS = 1_000

_ENUMERATED = 12
"""Up to so many needs a simulation takes every pattern of signs."""
_ENOUGH = 1_000
_BLOCK = 2_000_000


@dataclass(frozen=True)
class Power:
    """The smallest mean difference that is found 4 times in 5, where it is there."""

    detectable: float | None
    """In the measure's own unit; None where it cannot be said, `math.inf` where nothing could be found."""
    needs: int
    """n_eff: queries that share a need count as one."""
    non_zero: int
    """Needs whose differences do not add up to 0."""
    sd: float
    """Of a need's part in the mean: the standard deviation behind the formula."""
    level: float
    """alpha / family: what a p must be below before correction."""
    simulated: bool
    sentence: str

    def needs_for(self, difference: float) -> int | None:
        """How many needs it takes to find a mean difference of this size 4 times in 5; None where it cannot be said.

        Give the difference that would matter, chosen before the results were seen. The scatter is taken to stay
        what it is; where the present power is simulated, as much larger than the formula's as the simulation found.
        """
        if not difference > 0:
            raise ValueError(f"a difference to be found is above 0, not {difference}")
        if self.detectable is None or self.non_zero < min(FEW, self.needs):
            return None
        scatter = self.sd
        if not math.isinf(self.detectable):
            scatter *= self.detectable / _by_formula(self.sd, self.needs, self.level)
        return max(_fewest(self.level), _smallest(scatter, difference, self.level))

    def more_needs_for(self, difference: float) -> int | None:
        """How many needs must be labelled beside those there are; see `needs_for`."""
        needed = self.needs_for(difference)
        return None if needed is None else max(0, needed - self.needs)


def power(
    differences: Array, needs: Sequence[str], *, family: int = 1, alpha: float = 0.05, seed: int = 0
) -> Power:
    """What differences [q] between two systems, NaN where there is none, could have shown.

    MDE = (t_{1 - a/2} + t_{0.8}) · s_d / sqrt(n) with a = alpha / family, n the needs, n - 1 degrees of freedom.
    A need's part in the mean over queries is the sum of its differences, in units of the mean number of queries
    a need has; s_d is the standard deviation of these parts about what the mean difference gives a need of that
    size. With one query a need it is that of the differences; s_d / sqrt(n) is the standard error of the mean
    robust to clusters. Below 30 differing needs the paired randomisation test is simulated instead, unless the
    level is under 0.002, where that would take too many flips and the formula stays; below 6 they are too few to tell
    how much differences scatter.
    """
    sums, sizes = (column[:, 0] for column in need_sums(differences[:, np.newaxis], need_codes(needs)))
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    non_zero = int((np.abs(sums) > TOLERANCE).sum())
    level, count = alpha / family, len(sums)
    if count < 2:
        nothing = "one need cannot show a difference" if count else "there is no query to show a difference"
        return Power(None, count, non_zero, math.nan, level, False, nothing)
    parts, weights = sums / sizes.mean(), sizes / sizes.mean()
    centred = parts - weights * parts.mean()
    sd = float(np.sqrt((centred**2).sum() / (count - 1)))
    if count >= _fewest(level) and (unknown := _unknown(non_zero, count, sd)):
        return Power(None, count, non_zero, sd, level, False, unknown)
    simulated = non_zero < SIMULATED_BELOW and level >= SIMULATED_TO
    if count < _fewest(level):
        detectable = math.inf
    elif simulated:
        detectable = _by_simulation(centred, weights, level, seed=seed)
    else:
        detectable = _by_formula(sd, count, level)
    return Power(detectable, count, non_zero, sd, level, simulated, _sentence(detectable, count, level))


def _unknown(non_zero: int, needs: int, sd: float) -> str:
    """Why it cannot be said how much the differences scatter, empty where it can."""
    unsaid = "so it cannot be said how small a difference these queries could show"
    if not non_zero:
        return f"the two do not differ on any need, {unsaid}"
    if non_zero < FEW:
        return f"only {non_zero} of {needs} needs {'differs' if non_zero == 1 else 'differ'}, {unsaid}"
    return f"the differences do not scatter, {unsaid}" if sd <= TOLERANCE else ""


def _by_formula(sd: float, needs: int, level: float) -> float:
    return float((stdtrit(needs - 1, 1 - level / 2) + stdtrit(needs - 1, POWER)) * sd / math.sqrt(needs))


def _fewest(level: float) -> int:
    """How many needs must differ for the least p there can be, 2 / 2^needs, to be at the level."""
    return math.ceil(1 - math.log2(level))


def _smallest(sd: float, difference: float, level: float) -> int:
    """The fewest needs whose smallest detectable difference is at most this one: it falls as they become more."""
    low, high = 1, 2
    while _by_formula(sd, high, level) > difference:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _by_formula(sd, middle, level) > difference else (low, middle)
    return high


def _by_simulation(centred: Array, weights: Array, level: float, *, seed: int) -> float:
    """The shift that the randomisation test finds in 80 % of samples of needs, drawn with replacement.

    Of a sample whose centred parts flip to A and whose weights flip to W (A0 and W0 as they are), a shift d is
    found once |A + d W| >= A0 + d W0 holds for few enough flips. A flip holds up to d = (±A - A0) / (W0 ∓ W),
    so the shift that a sample takes is a quantile of these, and no shift need be tried.
    """
    count = len(centred)
    # Draws from n centred values scatter less than what these are a sample of.
    centred = centred * math.sqrt(count / (count - 1))
    signs = _signs(count, level, seed=seed)
    # Of p = b / m with every pattern among the m, or (b + 1) / (m + 1), the largest b that is still at the level.
    every = count <= _ENUMERATED
    allowed = math.floor(level * len(signs)) if every else math.floor(level * (len(signs) + 1)) - 1
    # Every need is drawn equally often over all samples, which takes half of the chance out of the answer.
    drawn = np.random.default_rng(seed).permutation(np.arange(SIMULATIONS * count) % count).reshape(-1, count)
    step = max(1, _BLOCK // len(signs))
    blocks = [drawn[start : start + step] for start in range(0, SIMULATIONS, step)]
    shifts = np.concatenate(
        [_needed_shifts(centred[block], weights[block], signs, allowed) for block in blocks]
    )
    # Skewed differences are harder to see on one side: a difference of that size is found on either.
    return float(np.quantile(shifts, POWER, axis=0).max())


def _needed_shifts(centred: Array, weights: Array, signs: Array, allowed: int) -> Array:
    """For each sample [samples, needs] the shifts, up and down, that it takes: [samples, 2].

    Beyond them at most `allowed` flips are as far from 0.
    """
    flipped, turned = centred @ signs.T, weights @ signs.T
    here, whole = centred.sum(axis=1, keepdims=True), weights.sum(axis=1, keepdims=True)
    same, opposite = whole - turned, whole + turned
    up = np.maximum(_quotient(flipped - here, same), _quotient(-flipped - here, opposite))
    down = np.maximum(_quotient(here - flipped, same), _quotient(flipped + here, opposite))
    place = len(signs) - 1 - allowed
    for shifts in (up, down):
        shifts.partition(place, axis=1)
    return np.stack([up[:, place], down[:, place]], axis=1)


def _quotient(over: Array, under: Array) -> Array:
    """inf where nothing is below the line: the signs as they are, or all turned, are as far from 0 at any shift."""
    full = np.full(over.shape, math.inf)
    return np.asarray(np.divide(over, under, out=full, where=under > TOLERANCE))


def _signs(needs: int, level: float, *, seed: int) -> Array:
    """All patterns of signs but for their mirror images, or enough random ones, [patterns, needs]."""
    if needs <= _ENUMERATED:
        patterns = np.arange(2 ** (needs - 1))[:, np.newaxis]
        return np.asarray(1.0 - 2.0 * (patterns >> np.arange(needs) & 1))
    return flips(needs, count=max(_ENOUGH, math.ceil(10 / level)), seed=seed).astype(np.float64)


def _sentence(detectable: float, needs: int, level: float) -> str:
    if math.isinf(detectable):
        return f"{needs} needs can show no difference at the level {level:.3g}: it takes at least {_fewest(level)}"
    return (
        f"with {needs} needs a difference of {detectable:.3f} is found 4 times in 5 (two-sided, at the level "
        f"{level:.3g}); a smaller one may well be there and not be found"
    )
