"""The k to take: the smallest that is shown to lose no more than epsilon against the largest one swept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bench.gains import Array
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.statistics.resampling import Resamples
from bench.statistics.verdicts import EPSILON, NO_WORSE, UNDECIDED, WORSE, Evidence, evidence, too_few


@dataclass(frozen=True)
class SmallerK:
    """What a k gives against the largest one swept."""

    k: int
    kind: str
    """`no worse` (within epsilon), `worse` (the whole interval of the loss above epsilon) or `undecided`."""
    evidence: Evidence
    """Of the values at this k minus those at the largest."""

    @property
    def loss(self) -> float:
        """The mean over queries of what the largest k gives more."""
        return -self.evidence.difference


@dataclass(frozen=True)
class KAdvice:
    """The smallest k that is no worse than the largest one swept."""

    k: int | None
    """None where it is undecided."""
    measure: str
    """As printed without k, `R`."""
    largest: int
    smaller: tuple[SmallerK, ...]
    """Rising."""

    @property
    def sentence(self) -> str:
        """The advice in a sentence or two."""
        if not self.smaller:
            return (
                f"k={self.largest} is the only one swept, so it can't be said whether a smaller k is enough."
            )
        below = [one for one in self.smaller if one.k < (self.k or self.largest)]
        refused = self._refused(below[-1]) if below else ""
        if self.k is None:
            few = below[-1].evidence.interval is None
            return too_few("which k is enough", below[-1].evidence) if few else f"Undecided: {refused}"
        if self.k == self.largest:
            return f"Take k={self.k}, the largest one swept: {refused} A larger one was not tried."
        taken = next(one for one in self.smaller if one.k == self.k)
        bound = -(taken.evidence.bound or 0.0)
        enough = (
            f"Take k={self.k}: {self._loses(taken)}, and less than {taken.evidence.epsilon:g} with 95 % confidence "
            f"(below {bound:.4f}, {taken.evidence.needs} needs)."
        )
        return f"{enough} Smaller k: {refused}" if refused else enough

    def _loses(self, one: SmallerK) -> str:
        return f"{self.measure}@{one.k} loses {one.loss:z.3f} against {self.measure}@{self.largest}"

    def _refused(self, one: SmallerK) -> str:
        """Why the next smaller k is not taken."""
        epsilon = one.evidence.epsilon
        if one.kind == WORSE:
            return f"{self._loses(one)}, more than {epsilon:g} with 95 % confidence."
        bound = -(one.evidence.bound or 0.0)
        return f"{self._loses(one)}, and up to {bound:.4f} is not ruled out. {one.evidence.missing}"


def deciding_measure(qrels: Qrels) -> Measure:
    """The measure on which k is advised: Complete where answers have parts, else R. Neither falls as k grows."""
    return MEASURES["complete" if qrels.parts else "recall"]


def advised_k(
    values: Mapping[int, Array], resamples: Resamples, *, measure: str, epsilon: float = EPSILON
) -> KAdvice:
    """The smallest k that is no worse than the largest, from the values [q] of one system at each k.

    `measure` is one that only grows with k, as printed without k. The k are tried from the largest downward, up to
    the first that is not shown to be no worse: in such an order no correction for trying several is due.
    """
    *lesser, largest = sorted(values)
    differences = [values[k] - values[largest] for k in lesser]
    shown = evidence(np.stack(differences, axis=1), resamples, epsilon=epsilon) if lesser else ()
    smaller = tuple(SmallerK(k, _kind(one), one) for k, one in zip(lesser, shown, strict=True))
    k: int | None = largest
    for one in reversed(smaller):
        if one.kind != NO_WORSE:
            k = None if k == largest and one.kind == UNDECIDED else k
            break
        k = one.k
    return KAdvice(k if smaller else None, measure, largest, smaller)


def _kind(shown: Evidence) -> str:
    """Of a smaller k."""
    if shown.no_worse:
        return NO_WORSE
    return WORSE if shown.interval is not None and shown.interval.hi < -shown.epsilon else UNDECIDED
