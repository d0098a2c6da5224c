"""The systems of a sweep at one measure and k: how they stand, which may be the best, what choosing one is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.measure import Measure
from bench.statistics.best import BestSet, WinnerScore, best_set, best_share, shared_values, winner_score
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples


@dataclass(frozen=True)
class Place:
    """One system among the others."""

    system: str
    mean: float
    """Over the queries with a value from every system."""
    best_share: float
    """In which share of the resamples it has the best mean, ties split; no probability."""
    p: float
    """That no system is better, corrected by Holm over the systems."""
    can_be_best: bool
    """Cannot be told from the best."""


@dataclass(frozen=True)
class Standings:
    """The systems by mean, the best first, and what there is to say of the first place."""

    measure: str
    """As printed, `nDCG@5`."""
    places: tuple[Place, ...]
    queries: int
    left_out: int
    """Queries without a value from every system."""
    needs: int
    winner: WinnerScore | None
    """None where fewer than two needs count."""
    sentence: str


def standings(
    panel: Panel, measure: Measure, *, k: int, resamples: Resamples, alpha: float = 0.05, seed: int = 0
) -> Standings | None:
    """How the systems of a panel stand; `resamples` are of its needs. None where no query has a value from all."""
    values = panel.at(measure, k)
    shared = shared_values(values)
    if np.isnan(shared).all():
        return None
    best = best_set(values, panel.needs, alpha=alpha, seed=seed)
    return Standings(
        measure=measure.at(k),
        places=_places(panel.systems, np.nanmean(shared, axis=0), best, best_share(values, resamples)),
        queries=best.queries,
        left_out=best.left_out,
        needs=best.needs,
        winner=winner_score(values, resamples) if best.needs > 1 else None,
        sentence=f"{measure.at(k)}: {best.sentence(panel.systems)}",
    )


def _places(
    systems: tuple[str, ...], means: np.ndarray, best: BestSet, shares: np.ndarray
) -> tuple[Place, ...]:
    places = [
        Place(system, float(means[i]), float(shares[i]), float(best.corrected[i]), bool(best.kept[i]))
        for i, system in enumerate(systems)
    ]
    return tuple(sorted(places, key=lambda place: (-place.mean, place.system)))
