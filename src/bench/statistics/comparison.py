"""Before and after: systems against a baseline, tested at one measure and k, and everything else as exploration.

The family of tests is fixed before the run: every system but the baseline, at one measure and one k, corrected
by Holm. Other measures and cut-offs are shown too, for they explain what happened; they are marked exploratory
and corrected together by Benjamini and Hochberg.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from bench.errors import BenchError
from bench.gains import Array
from bench.grid import LENSES
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.runs import Run
from bench.similarity import overlap
from bench.statistics.change import Change
from bench.statistics.intervals import difference_intervals
from bench.statistics.panel import Panel
from bench.statistics.power import Power, power
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, holm, paired_tests

NAMED = 5
"""So many systems are named in a sentence."""


@dataclass(frozen=True)
class Comparison:
    """Systems against a baseline on the queries of one collection."""

    baseline: str
    measure: str
    """Of the family, as printed: `nDCG@5`."""
    alpha: float
    family: tuple[Change, ...]
    """One change a system at that measure, in the order of the systems."""
    exploratory: tuple[Change, ...]
    """The other measures and cut-offs, by system."""
    powers: tuple[Power, ...]
    """What could have been shown, for each change of the family that is in detail."""

    def of(self, system: str) -> tuple[Change, ...]:
        """Every change of one system, that of the family first."""
        return tuple(change for change in (*self.family, *self.exploratory) if change.system == system)

    @property
    def sentence(self) -> str:
        """What the family shows, and how large it is."""
        return f"{self.outcome} {self.family_sentence}"

    @property
    def outcome(self) -> str:
        """What the family shows."""
        said = [
            f"{name} {verdict}"
            for verdict in ("rose", "fell")
            if (name := some([c.system for c in self.family if c.significant and c.direction == verdict]))
        ]
        open_ = some([change.system for change in self.family if not change.significant])
        if open_:
            said.append(f"no difference is shown for {open_} (which is not to say that they are equal)")
        return f"{self.measure} against {self.baseline}: {'; '.join(said)}."

    @property
    def family_sentence(self) -> str:
        """How many tests were corrected together, and how."""
        count = sum(change.test.queries > 0 for change in self.family)
        if count == 1:
            return f"The family is this one test of {self.measure}, at the level {self.alpha:g}."
        return (
            f"The family is {count} tests, the systems against {self.baseline} at {self.measure}, corrected by Holm "
            f"at the level {self.alpha:g}."
        )

    @property
    def exploratory_sentence(self) -> str:
        """What the other rows are worth."""
        count = sum(change.test.queries > 0 for change in self.exploratory)
        if not count:
            return ""
        return (
            f"Exploratory: {count} more tests, of other measures and k, corrected together by Benjamini-Hochberg. "
            "They say where to look and prove nothing."
        )


def compare(
    panel: Panel,
    measure: Measure,
    *,
    k: int,
    baseline: str,
    resamples: Resamples,
    alpha: float = 0.05,
    shown: Sequence[Measure] | None = None,
    in_detail: Collection[str] | None = None,
    same_documents: Collection[tuple[str, int]] = (),
    seed: int = 0,
) -> Comparison:
    """Every other system of the panel against the baseline, tested at one measure and k.

    `resamples` are of the panel's needs. `in_detail` names the systems (by default all) that have a power and
    exploratory rows too: `shown` are the measures of these, at every k of the panel (by default the four lenses).
    `same_documents` names the (system, k) for which `hand_on_the_same` holds of the runs of system and baseline.
    BenchError where the baseline, another system or the values are missing.
    """
    column = panel.column(baseline)
    others = [system for system in panel.systems if system != baseline]
    if not others:
        raise BenchError(f"there is no system to compare with {baseline}; a sweep of two or more is needed")
    panel.at(measure, k)
    setting = _Setting(panel, column, resamples, alpha, frozenset(same_documents), seed)
    lenses = [MEASURES[name] for name in LENSES] if shown is None else shown
    family = [_Cell(system, measure, k) for system in others]
    detailed = [system for system in others if in_detail is None or system in in_detail]
    rest = [
        _Cell(system, one, cut) for system in detailed for one, cut in _further(panel, lenses, measure, k)
    ]
    return Comparison(
        baseline=baseline,
        measure=measure.at(k),
        alpha=alpha,
        family=_changes(setting, family, holm, exploratory=False),
        exploratory=_changes(setting, rest, benjamini_hochberg, exploratory=True),
        powers=tuple(
            power(setting.differences(cell), panel.needs, family=len(family), alpha=alpha, seed=seed)
            for cell in family
            if cell.system in detailed
        ),
    )


def hand_on_the_same(one: Run, other: Run, *, k: int) -> bool:
    """Whether two runs over one vocabulary have the same documents in the top k of every query, in whatever order.

    Where they do, a measure that does not see the order cannot differ at that k.
    """
    return bool((overlap(one, other, k=k) == 1).all())


def some(names: Sequence[str]) -> str:
    """The names in a row, or how many they are where a sentence would drown in them; empty without one."""
    return listed(names) if len(names) <= NAMED else f"{len(names)} systems"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; empty without a name."""
    *first, last = names or ("",)
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class _Cell:
    system: str
    measure: Measure
    k: int


@dataclass(frozen=True, eq=False)
class _Setting:
    """What all tests of a comparison share."""

    panel: Panel
    baseline: int
    resamples: Resamples
    alpha: float
    same_documents: frozenset[tuple[str, int]]
    seed: int

    def pair(self, cell: _Cell) -> tuple[Array, Array]:
        """Before and after, [q] each, NaN where one of them has no value."""
        values = self.panel.at(cell.measure, cell.k)
        pair = values[:, [self.baseline, self.panel.column(cell.system)]]
        before, after = np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair).T
        return before, after

    def differences(self, cell: _Cell) -> Array:
        """After minus before, [q]."""
        before, after = self.pair(cell)
        return after - before


def _further(panel: Panel, shown: Sequence[Measure], measure: Measure, k: int) -> list[tuple[Measure, int]]:
    """Every measure that is shown at every k, but for what the family is about; one without k once."""
    cells = []
    for one in shown:
        ks = panel.ks(one.key)
        cells += [
            (one, cut) for cut in (ks if one.has_k else ks[-1:]) if one != measure or (one.has_k and cut != k)
        ]
    return cells


def _changes(
    setting: _Setting,
    cells: Sequence[_Cell],
    correct: Callable[[Array], Array],
    *,
    exploratory: bool,
) -> tuple[Change, ...]:
    """The tests of these cells, corrected together."""
    if not cells:
        return ()
    pairs = [setting.pair(cell) for cell in cells]
    differences = np.stack([after - before for before, after in pairs], axis=1)
    tests = paired_tests(differences, setting.panel.needs, alpha=setting.alpha, seed=setting.seed)
    intervals = difference_intervals(differences, setting.resamples)
    corrected = correct(np.array([test.p if test.queries else math.nan for test in tests]))
    return tuple(
        Change(
            system=cell.system,
            name=cell.measure.key,
            measure=cell.measure.at(cell.k),
            k=cell.k,
            before=_mean(before),
            after=_mean(after),
            interval=intervals.at(i),
            test=test,
            corrected=float(corrected[i]),
            among=int((~np.isnan(corrected)).sum()),
            alpha=setting.alpha,
            exploratory=exploratory,
            same_documents=(cell.system, cell.k) in setting.same_documents,
        )
        for i, (cell, (before, after), test) in enumerate(zip(cells, pairs, tests, strict=True))
    )


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
