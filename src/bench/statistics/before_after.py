"""A baseline before and a system after: what rose, what fell, what did not move, and which queries did it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.measure import Measure
from bench.statistics.change import FELL, ROSE, STAYED, Change
from bench.statistics.comparison import Comparison, compare, hand_on_the_same, listed
from bench.statistics.moved import Moved, moved
from bench.statistics.overview import WORTH_FINDING
from bench.statistics.panel import Panel
from bench.statistics.power import Power
from bench.statistics.rankings import Alike, Rankings, Unjudged
from bench.statistics.resampling import Resamples

Cell = tuple[Measure, int]


@dataclass(frozen=True, kw_only=True)
class BeforeAfter:
    """Systems against a baseline on one collection, and one of them in detail."""

    collection: str
    k: int
    comparison: Comparison
    """Its exploratory changes are those of the system in detail."""
    system: str
    """The one that is shown in detail."""
    moved: Moved
    texts: Mapping[str, str]
    """The text of each query that moved."""
    worth_finding: float
    unjudged: Unjudged | None
    """Of the system minus the baseline; None where bounds are not offered for the measure."""
    alike: Alike
    references: Mapping[str, float]
    """The mean of each reference system, where the measure has one."""
    notes: tuple[str, ...] = ()

    @property
    def measure(self) -> str:
        """That of the family, as printed."""
        return self.comparison.measure

    @property
    def change(self) -> Change:
        """That of the family, of the system in detail."""
        return next(change for change in self.comparison.family if change.system == self.system)

    @property
    def power(self) -> Power:
        """What the test of the system in detail could have shown."""
        return self.comparison.powers[0]

    @property
    def more_needs(self) -> int | None:
        """How many must be labelled beside those there are to find a difference worth finding; None where unknown."""
        return self.power.more_needs_for(self.worth_finding)

    @property
    def exploratory_sentence(self) -> str:
        """What rose, fell and stayed beside the measure of the family; empty where nothing else was looked at."""
        return " ".join(_exploratory(self.comparison.exploratory))


def before_after(
    panel: Panel,
    measure: Measure,
    *,
    k: int,
    baseline: str,
    system: str | None = None,
    also: Sequence[Cell] = (),
    rankings: Rankings,
    alpha: float = 0.05,
    worth_finding: float = WORTH_FINDING,
    notes: Sequence[str] = (),
) -> BeforeAfter:
    """Every other system of the panel against the baseline at one measure and k, and one of them in detail.

    In detail is `system`, else the one with the highest mean; `also` are the measures and k that are shown of it
    as exploration. BenchError where a system or a value is missing.
    """
    detailed = system or _highest(panel, measure, k, baseline=baseline)
    panel.column(detailed)
    panel.column(baseline)
    cells = {(one.key, cut): panel.at(one, cut) for one, cut in [(measure, k), *also]}
    comparison = compare(
        dataclasses.replace(panel, values=cells),
        measure,
        k=k,
        baseline=baseline,
        in_detail=[detailed],
        resamples=Resamples.of(panel.needs),
        alpha=alpha,
        shown=list(dict.fromkeys(one for one, _ in also)),
        same_documents=_same_documents(rankings, detailed, baseline, ks={cut for _, cut in cells}),
    )
    most = moved(panel, measure, k=k, system=detailed, baseline=baseline)
    texts = rankings.collection.query_texts
    return BeforeAfter(
        collection=rankings.collection.name,
        k=k,
        comparison=comparison,
        system=detailed,
        moved=most,
        texts={one.query: texts.get(one.query, "") for one in (*most.gained, *most.lost)},
        worth_finding=worth_finding,
        unjudged=rankings.unjudged(measure, detailed, baseline, k=k),
        alike=rankings.alike(detailed, baseline, k=k),
        references=rankings.references(measure, k=k),
        notes=tuple(notes),
    )


def _highest(panel: Panel, measure: Measure, k: int, *, baseline: str) -> str:
    """The system other than the baseline with the highest mean over its own queries, of equal ones the first."""
    means = np.nan_to_num(np.nanmean(panel.at(measure, k), axis=0), nan=-np.inf)
    others = [system for system in panel.systems if system != baseline]
    return max(others, key=lambda system: means[panel.column(system)], default=baseline)


def _same_documents(rankings: Rankings, system: str, baseline: str, *, ks: set[int]) -> set[tuple[str, int]]:
    """At which k the system and the baseline hand on the same documents for every query."""
    pair = rankings.runs[system], rankings.runs[baseline]
    return {(system, k) for k in ks if hand_on_the_same(*pair, k=k)}


def _exploratory(changes: Sequence[Change]) -> Iterator[str]:
    """A sentence on what moved, and one for each measure that did not."""
    counted = [change for change in changes if change.test.queries]
    moving = [change for change in counted if change.direction != STAYED]
    said = [
        f"{named} {verdict}"
        for verdict in (ROSE, FELL)
        if (named := _named(one for one in moving if one.significant and one.direction == verdict))
    ]
    if unsure := _named(one for one in moving if not one.significant):
        said.append(f"chance alone can explain {unsure}")
    if said:
        yield f"Exploratory: {'; '.join(said)}."
    yield from (change.sentence for change in counted if change.direction == STAYED)


def _named(changes: Iterable[Change]) -> str:
    """`P@5 (+13.0 points, +20.0 % relative) and RR@10 (+13.0 points, +23.6 % relative)`."""
    return listed(
        [f"{one.measure} ({one.amount}{'' if one.relative is None else ' relative'})" for one in changes]
    )
