"""All that a sweep shows at one measure and k: the best, how far that can be told, which k, which reranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.errors import BenchError
from bench.gains import Array
from bench.measure import Measure
from bench.statistics.advice import KAdvice, advised_k, deciding_measure
from bench.statistics.comparison import some
from bench.statistics.intervals import Interval, mean_intervals
from bench.statistics.panel import Panel
from bench.statistics.power import Power, power
from bench.statistics.rankings import Alike, Rankings, Unjudged
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, paired_tests
from bench.statistics.standings import Standings, standings
from bench.statistics.verdicts import Verdict, verdict

NEAREST = 12
"""So many systems are held against the highest: those that come next."""
ADVISED = 3
"""For so many systems a k is advised."""
WORTH_FINDING = 0.05
"""The difference for which more needs are counted where nothing else is said."""


@dataclass(frozen=True)
class Behind:
    """A system held against the one with the highest mean."""

    system: str
    difference: float
    """The highest minus its own, over the queries that both have."""
    power: Power
    """Of a test of these two, in a family of as many as there are others."""
    more_needs: int | None
    """How many must be labelled beside those there are to find a difference worth finding; None where unknown."""
    unjudged: Unjudged | None
    """None where bounds are not offered for the measure."""
    alike: Alike


@dataclass(frozen=True)
class Reranked:
    """A retriever without a reranker and with it. Outside the family, so exploratory."""

    without: str
    system: str
    """With it."""
    before: float
    after: float
    verdict: Verdict
    corrected: float
    """p by Benjamini-Hochberg over all rerankers shown."""
    among: int


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the systems of a sweep show on one collection."""

    collection: str
    measure: str
    """As printed, `nDCG@5`."""
    k: int
    alpha: float
    standings: Standings
    intervals: Mapping[str, Interval | None]
    """Of each system's mean."""
    worth_finding: float
    behind: tuple[Behind, ...]
    """The systems that come next after the first, by mean."""
    deciding: str
    """The measure on which k is advised, as printed without k."""
    advice: Mapping[str, KAdvice]
    """For the first of the systems that cannot be told from the best; empty where that measure was not taken."""
    reranked: tuple[Reranked, ...]
    references: Mapping[str, float]
    """The mean of each reference system, where the measure has one."""
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer: which system is ahead, and which cannot be told from it."""
        first, *others = self.standings.places
        ahead = f"{first.system} has the highest {self.measure}, {first.mean:.3f}"
        even = [place.system for place in others if place.can_be_best]
        if not others:
            return f"{ahead}, and stands alone: a sweep of two or more has something to compare."
        if not even:
            return f"{ahead}, and is shown to be the best of {1 + len(others)} systems."
        if len(even) == len(others):
            return f"{ahead}, but none of the {1 + len(others)} systems can be told from the best."
        return f"{ahead}; of {1 + len(others)} systems only {some(even)} cannot be told from it."


def overview(
    panel: Panel,
    measure: Measure,
    *,
    k: int,
    rankings: Rankings,
    reranked: Sequence[tuple[str, str]] = (),
    alpha: float = 0.05,
    worth_finding: float = WORTH_FINDING,
    notes: Sequence[str] = (),
) -> Overview:
    """The systems of a panel at one measure and k; their `rankings` are those behind its values.

    `reranked` names pairs of systems, without a reranker and with it. BenchError where no query has a value from
    every system.
    """
    resamples = Resamples.of(panel.needs)
    found = standings(panel, measure, k=k, resamples=resamples, alpha=alpha)
    if found is None:
        raise BenchError(
            f"{rankings.collection.name}: no query has a value of {measure.at(k)} from every system"
        )
    shown = _Shown(panel, measure, k, resamples, alpha)
    intervals = mean_intervals(shown.values, resamples)
    deciding = deciding_measure(rankings.collection.qrels)
    return Overview(
        collection=rankings.collection.name,
        measure=measure.at(k),
        k=k,
        alpha=alpha,
        standings=found,
        intervals={system: intervals.at(i) for i, system in enumerate(panel.systems)},
        worth_finding=worth_finding,
        behind=tuple(_behind(shown, found, rankings=rankings, worth_finding=worth_finding)),
        deciding=str(deciding),
        advice=_advice(shown, found, deciding=deciding),
        reranked=_reranked(shown, reranked),
        references=rankings.references(measure, k=k),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Shown:
    """The systems at the measure and k that are shown."""

    panel: Panel
    measure: Measure
    k: int
    resamples: Resamples
    alpha: float

    @property
    def values(self) -> Array:
        return self.panel.at(self.measure, self.k)

    def of(self, system: str) -> Array:
        return self.values[:, self.panel.column(system)]


def _behind(shown: _Shown, found: Standings, *, rankings: Rankings, worth_finding: float) -> Iterator[Behind]:
    first, *others = (place.system for place in found.places)
    for system in others[:NEAREST]:
        ahead = shown.of(first) - shown.of(system)
        could = power(ahead, shown.panel.needs, family=len(others), alpha=shown.alpha)
        yield Behind(
            system=system,
            difference=float(np.nanmean(ahead)),
            power=could,
            more_needs=could.more_needs_for(worth_finding),
            unjudged=rankings.unjudged(shown.measure, first, system, k=shown.k),
            alike=rankings.alike(first, system, k=shown.k),
        )


def _advice(shown: _Shown, found: Standings, *, deciding: Measure) -> dict[str, KAdvice]:
    """The k of the first systems that may be the best, in the order of the means."""
    panel, advice = shown.panel, {}
    best = [place.system for place in found.places if place.can_be_best]
    for system in best[:ADVISED]:
        columns = {k: panel.at(deciding, k)[:, panel.column(system)] for k in panel.ks(deciding.key)}
        known = {k: column for k, column in columns.items() if not np.isnan(column).all()}
        if known:
            advice[system] = advised_k(known, shown.resamples, measure=str(deciding))
    return advice


def _reranked(shown: _Shown, pairs: Sequence[tuple[str, str]]) -> tuple[Reranked, ...]:
    """The verdict on every reranker whose retriever is there without it too."""
    here = [pair for pair in pairs if set(pair) <= set(shown.panel.systems)]
    if not here:
        return ()
    before, after = (
        np.stack([shown.of(system) for system in side], axis=1) for side in zip(*here, strict=True)
    )
    tests = paired_tests(after - before, shown.panel.needs, alpha=shown.alpha)
    corrected = benjamini_hochberg(np.array([test.p for test in tests]))
    measure = shown.measure.at(shown.k)
    return tuple(
        Reranked(
            without=without,
            system=system,
            before=float(np.nanmean(before[:, i])),
            after=float(np.nanmean(after[:, i])),
            verdict=verdict((after - before)[:, i], shown.resamples, subject=system, measure=measure),
            corrected=float(corrected[i]),
            among=len(here),
        )
        for i, (without, system) in enumerate(here)
    )
