"""What paired differences show: that a change is better, no worse, worse, or neither yet.

*No worse* is something that is shown, and not the absence of a significant difference: the one-sided 95 % bound of
the loss lies under `epsilon` (a test of non-inferiority; Piaggio et al. 2012). What is shown neither way is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bench.gains import Array
from bench.statistics.clusters import Clusters
from bench.statistics.intervals import FEWEST, LEVEL, Interval, difference_intervals
from bench.statistics.power import POWER
from bench.statistics.resampling import Resamples

EPSILON = 0.02
"""A loss of the mean that would not be missed."""

BETTER, NO_WORSE, WORSE, UNDECIDED = "better", "no worse", "worse", "undecided"


@dataclass(frozen=True)
class MoreNeeds:
    """How many needs are to be labelled beside those there are, so that no more than epsilon is shown to be lost."""

    needs: int
    if_loss: float
    """The true loss up to which so many are enough, 4 times in 5."""


@dataclass(frozen=True)
class Evidence:
    """What paired differences show of their mean."""

    difference: float
    """The mean over the queries with a difference, NaN without any."""
    interval: Interval | None
    """At 95 %; None below 10 needs."""
    bound: float | None
    """The difference is above this with 95 % confidence, one-sided; None below 10 needs."""
    needs: int
    epsilon: float
    more: MoreNeeds | None
    """None where no more are needed to show that nothing over epsilon is lost, and with fewer than two needs."""

    @property
    def no_worse(self) -> bool:
        """Whether it is shown that no more than epsilon is lost."""
        return self.bound is not None and self.bound > -self.epsilon

    @property
    def missing(self) -> str:
        """How many more queries would show it, in a sentence; empty where none are needed."""
        if self.more is None:
            return ""
        lost = f"no more than {self.more.if_loss:.3f}" if self.more.if_loss else "nothing"
        return (
            f"About {self.more.needs} more queries are needed, each with a need of its own: enough, 4 times in 5, "
            f"if {lost} is truly lost."
        )


@dataclass(frozen=True)
class Verdict:
    """What became of a measure when a system was changed."""

    kind: str
    """`better` or `worse` (the whole interval on that side of 0), `no worse` (within epsilon), `undecided`."""
    subject: str
    """What was added, as `reranker=overlap`."""
    measure: str
    """As printed, `nDCG@5`."""
    evidence: Evidence

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        evidence = self.evidence
        if evidence.interval is None:
            return too_few(f"whether {self.subject} helps", evidence)
        seen = (
            f"{self.measure} changes by {evidence.difference:+z.3f} "
            f"(95 %: {evidence.interval.lo:+z.3f} to {evidence.interval.hi:+z.3f}, {evidence.needs} needs)"
        )
        if self.kind == UNDECIDED:
            return f"Whether {self.subject} helps is undecided: {seen}. {evidence.missing}"
        within = f", by less than {evidence.epsilon:g}" if self.kind == WORSE and evidence.no_worse else ""
        if self.kind == NO_WORSE:
            return f"{self.subject} is no worse, within {evidence.epsilon:g}; that it is better is not shown: {seen}."
        return f"{self.subject} is {self.kind}{within}: {seen}."


def verdict(
    differences: Array, resamples: Resamples, *, subject: str, measure: str, epsilon: float = EPSILON
) -> Verdict:
    """The verdict on a change, from the values with it minus those without it, [q], NaN where there is none."""
    (found,) = verdicts(
        differences[:, np.newaxis], resamples, subjects=[subject], measures=[measure], epsilon=epsilon
    )
    return found


def verdicts(
    differences: Array,
    resamples: Resamples,
    *,
    subjects: Sequence[str],
    measures: Sequence[str],
    epsilon: float = EPSILON,
) -> tuple[Verdict, ...]:
    """The verdicts on several changes, a column of differences [q, changes] each; see `verdict`."""
    shown = evidence(differences, resamples, epsilon=epsilon)
    return tuple(
        Verdict(_kind(one), subject, measure, one)
        for one, subject, measure in zip(shown, subjects, measures, strict=True)
    )


def evidence(differences: Array, resamples: Resamples, *, epsilon: float = EPSILON) -> tuple[Evidence, ...]:
    """What each column of differences [q, pairs] shows, NaN where a query has none; epsilon is between 0 and 1."""
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon is between 0 and 1, not {epsilon}")
    clusters = Clusters.of(differences, resamples.codes)
    intervals = difference_intervals(differences, resamples)
    one_sided = difference_intervals(differences, resamples, level=2 * LEVEL - 1)
    found = []
    for pair, needs in enumerate(clusters.needs.tolist()):
        bound = one_sided.at(pair)
        more = None
        if needs > 1 and (bound is None or bound.lo <= -epsilon):
            more = _more_needs(float(clusters.standard_errors[pair]) * math.sqrt(needs), needs, epsilon)
        found.append(
            Evidence(
                float(clusters.means[pair]),
                intervals.at(pair),
                None if bound is None else bound.lo,
                needs,
                epsilon,
                more,
            )
        )
    return tuple(found)


def too_few(what: str, shown: Evidence) -> str:
    """The sentence where there are too few needs for an interval; `what` can't be said."""
    return (
        f"With {shown.needs} needs it can't be said {what}: {FEWEST} are the least. {shown.missing}".strip()
    )


def _kind(shown: Evidence) -> str:
    """What the evidence is enough for."""
    if shown.interval is None:
        return UNDECIDED
    if shown.interval.lo > 0 or shown.interval.hi < 0:
        return BETTER if shown.interval.lo > 0 else WORSE
    return NO_WORSE if shown.no_worse else UNDECIDED


def _more_needs(sd: float, needs: int, epsilon: float) -> MoreNeeds:
    """From how much the differences of needs scatter, and never from the mean that was seen.

    Planned for no loss at all; where there are needs enough for that already, for a loss halfway to epsilon, and so on.
    """
    margin = epsilon
    while (needed := _needed(sd, margin)) <= needs:
        margin /= 2
    return MoreNeeds(needed - needs, epsilon - margin)


def _needed(sd: float, margin: float) -> int:
    """How many needs bring the one-sided bound within the margin, 4 times in 5 and even if none of them differs."""
    scattered = float((ndtri(LEVEL) + ndtri(POWER)) * sd / margin) ** 2
    alike = math.log(1 - LEVEL) / math.log1p(-margin)
    return max(FEWEST, math.ceil(scattered), math.ceil(alike))
