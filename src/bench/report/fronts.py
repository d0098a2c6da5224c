"""Quality against a cost: every point, and those on the front joined by steps and numbered, the cheapest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from bench.report.frame import WIDE, Pane, joined, percent, titled
from bench.report.labels import Label, Placed, placed
from bench.report.looks import Look
from bench.report.scales import Scale, costs, linear
from bench.report.words import Words
from bench.statistics.findings import Front, Point

HEIGHT = 300.0
NEAR = 0.05
"""A point that is on the front in this share of the resamples is named, though it is not on it."""


@dataclass(frozen=True)
class FrontView:
    """A front as it is shown."""

    k: int | None
    chart: Markup
    on: Sequence[Point]
    near: Sequence[Point]
    """Not on it, but in some resamples."""


def front_views(
    fronts: Sequence[Front],
    *,
    looks: Mapping[str, Look],
    cells: Mapping[tuple[str, int], int],
    words: Words,
) -> list[FrontView]:
    """Fronts of one measure and cost, one a k or one of all k."""
    return [
        FrontView(
            front.k,
            front_chart(front, looks=looks, cells=cells, words=words),
            on_front(front),
            [point for point in front.points if not point.on_front and point.share_on_front >= NEAR],
        )
        for front in fronts
        if front.points
    ]


def on_front(front: Front) -> list[Point]:
    """The points that nothing beats, the cheapest first."""
    return [point for point in front.points if point.on_front]


def front_chart(
    front: Front, *, looks: Mapping[str, Look], cells: Mapping[tuple[str, int], int], words: Words
) -> Markup:
    """The points of a front and those behind it; `cells` has the number of each (system, k) for the scripts."""
    ends = [end for p in front.points for end in (p.cost, p.cost_lo, p.cost_hi) if end is not None]
    across = costs(ends)
    pane = Pane(linear([point.quality for point in front.points], floor=0.0), HEIGHT)

    def at(point: Point) -> tuple[float, float]:
        return across.at(point.cost), pane.up(point.quality)

    best = on_front(front)
    labels = [Label(*at(p), str(i), _named(p, front)) for i, p in enumerate(best, start=1)]
    strokes = _strokes([at(p) for p in best])
    strokes += [
        (across.at(p.cost_lo), at(p)[1], across.at(p.cost_hi), at(p)[1])
        for p in best
        if p.cost_lo is not None and p.cost_hi is not None
    ]
    marks: dict[str, list[Markup]] = {}
    for point in sorted(front.points, key=lambda p: p.on_front):
        said = f"{point.system}, k={point.k}: {words.number(point.quality)}, {words.cost(point.cost, front.cost)}"
        marks.setdefault(point.system, []).append(
            looks[point.system].mark(
                x=percent(at(point)[0]),
                y=f"{at(point)[1]:.1f}",
                title=titled(said, cells),
                cell=cells[point.system, point.k],
            )
        )
    body = joined(
        [
            pane.grid(),
            *pane.below({words.tick(tick): across.at(tick) for tick in across.ticks}, columns=False),
            pane.stretched([_steps([at(p) for p in best])]),
            *(_cost_interval(p, across, at(p)[1], looks[p.system]) for p in best),
            *(looks[system].marks(of) for system, of in marks.items()),
            *map(_label, placed(labels, [at(p) for p in front.points], strokes=strokes, height=pane.foot)),
        ]
    )
    named = words.measure(front.measure, front.k)
    said = words("front_said", measure=named, cost=words(front.cost), points=len(front.points))
    return Markup('<div class="chart scatter"><p class="y-name">{}</p>{}{}</div>').format(
        words("axis_measure", measure=named if front.k else f"{named}@k"),
        pane.beside(words),
        pane.plot(body, said=said, below=words(f"axis_{front.cost}{'_log' if across.log else ''}")),
    )


def _named(point: Point, front: Front) -> str:
    return point.system if front.k else f"{point.system}, k={point.k}"


def _steps(points: Sequence[tuple[float, float]]) -> Markup:
    """The front: the best that can be had for at most so much."""
    if not points:
        return Markup("")
    path = f"M{WIDE * points[0][0]:.1f} {points[0][1]:.1f}"
    path += "".join(f"H{WIDE * x:.1f}V{y:.1f}" for x, y in points[1:])
    return Markup('<path class="front" d="{}H{}"/>').format(path, WIDE)


def _strokes(points: Sequence[tuple[float, float]]) -> list[tuple[float, float, float, float]]:
    """The level and upright lines of the front, from one end to the other."""
    found = []
    for (x, y), (to_x, to_y) in pairwise([*points, (1.0, points[-1][1])] if points else []):
        found += [(x, y, to_x, y), (to_x, y, to_x, to_y)]
    return found


def _cost_interval(point: Point, across: Scale, y: float, look: Look) -> Markup:
    if point.cost_lo is None or point.cost_hi is None:
        return Markup("")
    return Markup('<line class="cost {0}" data-s="{1}" x1="{2}" x2="{3}" y1="{4}" y2="{4}"/>').format(
        look.classes,
        look.number,
        percent(across.at(point.cost_lo)),
        percent(across.at(point.cost_hi)),
        f"{y:.1f}",
    )


def _label(one: Placed) -> Markup:
    rest = Markup('<tspan class="rest" dx="5">{}</tspan>').format(one.label.text) if one.whole else ""
    return Markup(
        '<svg x="{}" y="{}"><text class="{}" x="{:.0f}" y="{:.0f}"><tspan class="no">{}</tspan>{}</text></svg>'
    ).format(percent(one.label.x), f"{one.label.y:.1f}", one.classes, one.dx, one.dy, one.label.number, rest)
