"""The Pareto front of quality against a cost, and how often each point is on it when needs are drawn again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.metrics import MEASURES
from bench.statistics.clusters import ALIKE
from bench.statistics.figures import LATENCY, TOKENS, Cell, Front, Point
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples


def fronts(
    panel: Panel, cells: Sequence[Cell], *, measures: Sequence[str], resamples: Resamples
) -> tuple[Front, ...]:
    """Quality against latency and against context tokens; over every k for a measure that cannot fall as k grows.

    Any other measure has one front a k. `resamples` are of the panel's needs. What is drawn again is quality: the
    costs are held as they were measured.
    """
    found = (
        front
        for measure in measures
        for front in _of_measure(panel, cells, measure=measure, resamples=resamples)
    )
    return tuple(front for front in found if front.points)


def on_front(costs: Array, quality: Array) -> npt.NDArray[np.bool_]:
    """Which points no other is as good as and cheaper, or better than and no dearer: [..., points].

    `costs` are [points], rising; `quality` [..., points]. Of equal points all are on it. NaN is not on it.
    """
    known = np.where(np.isnan(quality), -np.inf, quality)
    highest = np.maximum.accumulate(known, axis=-1)
    first = np.searchsorted(costs, costs, side="left")
    last = np.searchsorted(costs, costs, side="right") - 1
    cheaper = np.where(first > 0, highest[..., first - 1], -np.inf)
    no_dearer = highest[..., last]
    return np.asarray((known > cheaper + ALIKE) & (known >= no_dearer - ALIKE) & np.isfinite(known), np.bool_)


def _of_measure(
    panel: Panel, cells: Sequence[Cell], *, measure: str, resamples: Resamples
) -> Iterator[Front]:
    shown = [
        cell for cell in cells if measure in cell.values and (measure, cell.k) in panel.values
        and cell.system in panel.systems
    ]  # fmt: skip
    if not shown:
        return
    values = np.stack([panel.values[measure, cell.k][:, panel.column(cell.system)] for cell in shown], axis=1)
    drawn = resamples.means(values)
    ks = [None] if MEASURES[measure].grows_with_k else sorted({cell.k for cell in shown})
    for cost in (LATENCY, TOKENS):
        for k in ks:
            chosen = [
                i for i, cell in enumerate(shown) if k in (None, cell.k) and _cost(cell, cost) is not None
            ]
            chosen.sort(key=lambda i: (_cost(shown[i], cost), shown[i].system, shown[i].k))
            points = _points([shown[i] for i in chosen], drawn[:, chosen], measure=measure, cost=cost)
            yield Front(measure=measure, k=k, cost=cost, points=points)


def _points(cells: Sequence[Cell], drawn: Array, *, measure: str, cost: str) -> tuple[Point, ...]:
    """Of cells by rising cost, and their means in every resample [resamples, cells]."""
    costs = np.array([_cost(cell, cost) for cell in cells], np.float64)
    quality = np.array([cell.values[measure].mean for cell in cells], np.float64)
    here = on_front(costs, quality)
    share = on_front(costs, drawn).mean(axis=0) if len(cells) else np.empty(0)
    return tuple(
        Point(
            system=cell.system,
            k=cell.k,
            quality=float(quality[i]),
            cost=float(costs[i]),
            cost_lo=cell.latency.lo if cost == LATENCY and cell.latency else None,
            cost_hi=cell.latency.hi if cost == LATENCY and cell.latency else None,
            on_front=bool(here[i]),
            share_on_front=float(share[i]),
        )
        for i, cell in enumerate(cells)
    )


def _cost(cell: Cell, cost: str) -> float | None:
    if cost == TOKENS:
        return cell.context_tokens
    return cell.latency.mean if cell.latency else None
