"""What plots are drawn with: lines, marks and cells, and labels that lie on nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.report.looks import Look
from bench.report.scales import apart, linear
from bench.report.words import Words
from bench.statistics.findings import Curve, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B08A00", "#56B4E9", "#4D4D4D")
"""In the order of `bench.report.looks`; the yellow of the palette is darkened to be seen on white."""
MARKERS = ("o", "s", "D", "^", "v", "P")
DASHES = ("-", "-", "--", ":")
"""By the variant of a look."""
LONGEST = 38
"""A name is cut beyond it."""
LINE = 0.165
"""Inches between the names at the ends of lines."""
SPOTS = ((5, 5), (-5, 5), (5, -5), (-5, -5), (0, 8), (0, -8))
"""Where a label may stand beside its point, in typographic points."""


def last(curve: Curve) -> float:
    """The value at the largest k that has one."""
    return next(f.mean for _, f in reversed(curve.points) if f.mean is not None)


def line(axes: Axes, curve: Curve, look: Look, ks: Sequence[int]) -> None:
    """A curve with its band, each k a step to the right."""
    known = [(ks.index(k), f, f.mean) for k, f in curve.points if f.mean is not None]
    places, means = [place for place, _, _ in known], [mean for _, _, mean in known]
    axes.plot(places, means, linestyle=DASHES[min(look.variant, 3)], lw=1.7, **_look(look))
    banded = [(place, f.lo, f.hi) for place, f, _ in known if f.lo is not None and f.hi is not None]
    if banded:
        steps, lows, highs = zip(*banded, strict=True)
        axes.fill_between(steps, lows, highs, color=colour(look), alpha=0.1, lw=0)


def mark(axes: Axes, point: Point, look: Look) -> None:
    """A point with the interval of its cost."""
    if point.cost_lo is not None and point.cost_hi is not None:
        axes.plot([point.cost_lo, point.cost_hi], [point.quality] * 2, color=colour(look), lw=1, alpha=0.5)
    axes.plot([point.cost], [point.quality], linestyle="none", **_look(look))


def key(axes: Axes, drawn: Mapping[str, Look], systems: Sequence[str]) -> None:
    """The mark of each system beside its name, to the right of the axes."""
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], linestyle="none", label=short(one), **_look(drawn[one])) for one in systems]
    axes.legend(
        handles=marks, loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, handletextpad=0.3
    )


def upright(axes: Axes, values: Sequence[float | None], words: Words) -> None:
    """An upright axis that holds all values and ends at round figures."""
    scale = linear([value for value in values if value is not None] or [0.0, 1.0], floor=0.0)
    room = 0.03 * (scale.high - scale.low)
    axes.set_ylim(scale.low - room, scale.high + room)
    axes.set_yticks(scale.ticks, [words.tick(tick) for tick in scale.ticks])


def heat(axes: Axes, values: Sequence[Sequence[float | None]], words: Words) -> None:
    """Figures from 0 to 1, each on a ground that is the darker the higher it is."""
    import numpy as np

    grid = np.array(values, float)
    axes.imshow(np.ma.masked_invalid(grid), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.grid(False)
    for (i, j), value in np.ndenumerate(grid):
        axes.text(j, i, words.number(float(value)), ha="center", va="center", fontsize=8.5,
                  color="white" if value > 0.6 else "#222222")  # fmt: skip


def named_ends(axes: Axes, curves: Sequence[Curve], drawn: Mapping[str, Look]) -> None:
    """The name of each curve to the right, as near to its end as the others let it."""
    figure: Any = axes.figure
    low, high = axes.get_ylim()
    gap = LINE / (0.74 * figure.get_figheight()) * (high - low)
    ends = [last(curve) for curve in curves]
    ks = sorted({k for curve in curves for k, _ in curve.points})
    for curve, end, place in zip(curves, ends, apart(ends, gap=gap, low=low, high=high), strict=True):
        across = max(ks.index(k) for k, f in curve.points if f.mean is not None)
        ink = colour(drawn[curve.system])
        axes.annotate(
            short(curve.system), xy=(across, end), xytext=(1.03, place), textcoords=axes.get_yaxis_transform(),
            color=ink, va="center", annotation_clip=False, fontsize=9,
            arrowprops={"arrowstyle": "-", "color": ink, "lw": 0.7, "shrinkA": 1, "shrinkB": 4},
        )  # fmt: skip


def beside_points(axes: Axes, points: Sequence[tuple[float, float, str, bool]]) -> None:
    """The label of each point where it lies on no other and on no point, those of `True` first; else none."""
    figure: Any = axes.figure
    figure.draw_without_rendering()
    renderer, dot = figure.canvas.get_renderer(), figure.dpi / 72
    centres = [axes.transData.transform((x, y)) for x, y, _, _ in points]
    taken = [_around(x, y, 4 * dot) for x, y in centres]
    for x, y, text, first in sorted(points, key=lambda point: not point[3]):
        for dx, dy in SPOTS:
            label = axes.annotate(
                text, (x, y), xytext=(dx, dy), textcoords="offset points", fontsize=8.5,
                ha="left" if dx > 0 else "right" if dx < 0 else "center", fontweight="bold" if first else "normal",
                va="bottom" if dy > 0 else "top" if dy < 0 else "center",
            )  # fmt: skip
            box = label.get_window_extent(renderer)
            if _inside(box, axes.bbox) and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            label.remove()


def colour(look: Look) -> str:
    """Of a system."""
    return COLOURS[look.colour - 1]


def short(text: str) -> str:
    """A name that fits beside a plot."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def wrapped(text: str) -> str:
    """A sentence in lines that fit below a plot."""
    return "\n".join(textwrap.wrap(text, 100))


def _look(look: Look) -> dict[str, Any]:
    """Filled where something reranks."""
    ink = colour(look)
    return {"color": ink, "marker": MARKERS[look.shape], "markersize": 5.5, "markeredgewidth": 1.3,
            "markeredgecolor": ink, "markerfacecolor": ink if look.variant else "white"}  # fmt: skip


def _around(x: float, y: float, reach: float) -> Bbox:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(x - reach, y - reach, x + reach, y + reach)


def _inside(box: Bbox, of: Bbox) -> bool:
    return bool(box.x0 >= of.x0 and box.x1 <= of.x1 and box.y0 >= of.y0 and box.y1 <= of.y1)
