"""What became of one measure between a baseline and another system, and how that is said."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.statistics.intervals import Interval
from bench.statistics.significance import PairedTest

ROSE, FELL, STAYED = "rose", "fell", "did not move"
OF_SETS = {
    "precision": "precision",
    "recall": "recall",
    "complete": "completeness",
    "part_recall": "the recall of parts",
    "success": "success",
    "f1": "F1",
}
"""Measures that see which documents stand in the top k and not in which order, and what they are called."""
_STILL = 1e-12


@dataclass(frozen=True, kw_only=True)
class Change:
    """One measure at one k before and after: means over the queries that have a value in both."""

    system: str
    name: str
    """The column of the measure."""
    measure: str
    """As printed, `nDCG@5`."""
    k: int
    before: float
    after: float
    interval: Interval | None
    """Of the difference, 95 %; None below 10 needs."""
    test: PairedTest
    """Of after against before, so that a win is a query that gained."""
    corrected: float
    """p corrected for the tests it stands among, NaN where no query has both values."""
    among: int
    """How many tests were corrected together."""
    alpha: float
    exploratory: bool
    """Outside the family that was fixed before the run."""
    same_documents: bool
    """Both systems are known to hand on the same k documents for every query."""

    @property
    def difference(self) -> float:
        """After minus before; times 100 it is in points."""
        return self.after - self.before

    @property
    def relative(self) -> float | None:
        """The difference as a share of what was there before, None where that was 0 or is not known."""
        return self.difference / self.before if self.before and math.isfinite(self.difference) else None

    @property
    def direction(self) -> str:
        """`rose`, `fell` or `did not move`: what the mean did, by chance or not."""
        if not abs(self.difference) > _STILL:
            return STAYED
        return ROSE if self.difference > 0 else FELL

    @property
    def significant(self) -> bool:
        """Whether the corrected p is at most alpha. What is not significant is not thereby equal."""
        return self.corrected <= self.alpha

    @property
    def amount(self) -> str:
        """In points and relative to before, both named: `+13.0 points, +20.0 %`."""
        points = f"{100 * self.difference:+z.1f} points"
        return points if self.relative is None else f"{points}, {100 * self.relative:+z.1f} %"

    @property
    def sentence(self) -> str:
        """What happened, how sure it is, and among how many tests it was looked for."""
        if not self.test.queries:
            return f"{self.measure}: {self.test.note}."
        if self.direction == STAYED:
            return f"{self.measure} did not move: {self.before:.3f} before and after, {self._why_still}."
        within = ""
        if self.interval:
            lo, hi = (f"{100 * end:+z.1f}" for end in (self.interval.lo, self.interval.hi))
            within = f" (95 %: {lo} to {hi} points)"
        relative = "" if self.relative is None else " relative"
        chance = "" if self.significant else ", which chance alone can explain"
        return (
            f"{self.measure} {self.direction} from {self.before:.3f} to {self.after:.3f}: {self.amount}{relative}"
            f"{within}{chance}; {self.evidence}."
        )

    @property
    def evidence(self) -> str:
        """p, what it is corrected for, and the queries on either side."""
        test = self.test
        noted = f"; {test.note}" if test.note else ""
        return (
            f"p {p_text(self.corrected)}, {self._correction}; "
            f"{_queries(test.wins)} gained, {test.ties} stayed, {test.losses} lost{noted}"
        )

    @property
    def _correction(self) -> str:
        if self.exploratory:
            return f"exploratory (Benjamini-Hochberg over {self.among} tests)"
        return f"Holm over a family of {self.among} tests" if self.among > 1 else "a family of one test"

    @property
    def _why_still(self) -> str:
        if self.same_documents and self.name in OF_SETS:
            return (
                f"for both hand on the same {self.k} documents for every query, and a reranker over the same "
                f"candidates cannot change {OF_SETS[self.name]} at their depth"
            )
        if self.test.wins or self.test.losses:
            return f"though {_queries(self.test.wins)} gained and {self.test.losses} lost"
        return "the same on every query"


def p_text(p: float) -> str:
    """`= 0.031` or `< 0.001`: never 0."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _queries(count: int) -> str:
    return f"{count} query" if count == 1 else f"{count} queries"
