"""The queries that gained and lost most between two systems: what to read before believing a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.measure import Measure
from bench.statistics.panel import Panel
from bench.statistics.significance import TOLERANCE

MOST = 5


@dataclass(frozen=True)
class QueryChange:
    """One query before and after."""

    query: str
    need: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True)
class Moved:
    """Queries by how far they moved, the farthest first, equal ones by id."""

    gained: tuple[QueryChange, ...]
    lost: tuple[QueryChange, ...]


def moved(panel: Panel, measure: Measure, *, k: int, system: str, baseline: str, most: int = MOST) -> Moved:
    """At most `most` queries that gained from the baseline to the system, and as many that lost."""
    values = panel.at(measure, k)
    pairs = zip(values[:, panel.column(baseline)], values[:, panel.column(system)], strict=True)
    changes = [
        QueryChange(query, need, float(before), float(after))
        for query, need, (before, after) in zip(panel.queries, panel.needs, pairs, strict=True)
        if not math.isnan(before + after)
    ]
    ordered = sorted(changes, key=lambda change: (-abs(change.difference), change.query))
    return Moved(
        gained=tuple(change for change in ordered if change.difference > TOLERANCE)[:most],
        lost=tuple(change for change in ordered if change.difference < -TOLERANCE)[:most],
    )
