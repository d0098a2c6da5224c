"""Rules that a system has to keep, and what became of each: kept, breached, or not decided by these queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.gains import Array
from bench.measure import Measure
from bench.statistics.resampling import Resamples
from bench.statistics.verdicts import evidence

PASS, BREACH, UNDECIDED = "pass", "breach", "undecided"
Kind = Literal["min", "min-lo", "max", "no-worse-than"]
_EXACT = 1e-12
"""A mean that misses a limit by less has only been rounded."""


@dataclass(frozen=True)
class Rule:
    """One thing that has to hold of a system."""

    kind: Kind
    column: str
    """Of the grid: of a measure its name, else what was asked for."""
    measure: Measure | None
    """None where the column holds none."""
    k: int | None
    """None where none was named."""
    limit: float

    @property
    def name(self) -> str:
        """What it is about, as it was asked for: `nDCG@5`, `latency_p95_ms`."""
        if self.measure is not None and not self.measure.has_k:
            return str(self.measure)
        return f"{self.measure or self.column}{'' if self.k is None else f'@{self.k}'}"

    @property
    def text(self) -> str:
        """The rule as it is printed: `nDCG@5 >= 0.7`."""
        if self.kind == "no-worse-than":
            return f"{self.name} loses at most {self.limit:g}"
        if self.kind == "max":
            return f"{self.name} <= {self.limit:g}"
        return f"{self.name}{' (lower end)' if self.kind == 'min-lo' else ''} >= {self.limit:g}"


@dataclass(frozen=True)
class Outcome:
    """What became of a rule, with the figures that say so."""

    rule: Rule
    kind: str
    said: str


@dataclass(frozen=True)
class Gate:
    """What became of all rules that one system was held to."""

    folder: str
    system: str
    collection: str
    outcomes: tuple[Outcome, ...]
    undecided_passes: bool
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no rule is breached, and none undecided unless that passes too."""
        return not any(self.stops(outcome) for outcome in self.outcomes)

    def stops(self, outcome: Outcome) -> bool:
        """Whether this outcome alone makes the gate fail."""
        return outcome.kind == BREACH or (outcome.kind == UNDECIDED and not self.undecided_passes)

    @property
    def sentence(self) -> str:
        """The answer in a line."""
        counts = [
            f"{count} {word}"
            for word, kind in (("breached", BREACH), ("undecided", UNDECIDED), ("kept", PASS))
            if (count := sum(outcome.kind == kind for outcome in self.outcomes))
        ]
        rules = "1 rule" if len(self.outcomes) == 1 else f"{len(self.outcomes)} rules"
        verdict = "passes" if self.passed else "does not pass"
        return f"{self.system} on {self.collection} ({self.folder}) {verdict}: of {rules} {', '.join(counts)}"


def against_limit(rule: Rule, value: float) -> Outcome:
    """What becomes of a rule with a limit, `min`, `min-lo` or `max`, at this value."""
    short = value - rule.limit if rule.kind == "max" else rule.limit - value
    if short <= _EXACT * max(1.0, abs(rule.limit)):
        return Outcome(rule, PASS, _figure(value))
    return Outcome(
        rule, BREACH, f"{_figure(value)}, {_figure(short)} {'over' if rule.kind == 'max' else 'short'}"
    )


def no_worse(rule: Rule, differences: Array, needs: Sequence[str], *, against: str) -> Outcome:
    """What becomes of `no-worse-than`, from new minus old by query [q], NaN where there is none.

    Kept where the one-sided 95 % bound of the loss is under the limit, breached where the whole interval is
    beyond it, else undecided.
    """
    shown = evidence(differences[:, None], Resamples.of(needs), epsilon=rule.limit)[0]
    if shown.interval is None:
        few = f"{shown.needs} needs are too few to tell it from {against}. {shown.missing}"
        return Outcome(rule, UNDECIDED, few.strip())
    said = (
        f"{shown.difference:+z.4f} against {against} (95 %: {shown.interval.lo:+z.4f} to {shown.interval.hi:+z.4f}, "
        f"{shown.needs} needs)"
    )
    if shown.no_worse:
        return Outcome(rule, PASS, said)
    if shown.interval.hi < -rule.limit:
        return Outcome(rule, BREACH, said)
    bound = -(shown.bound or 0.0)
    return Outcome(
        rule, UNDECIDED, f"{said}, and a loss up to {bound:.4f} is not ruled out. {shown.missing}".strip()
    )


def _figure(value: float) -> str:
    """Four digits behind the point, or four in all where the figure is large."""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
