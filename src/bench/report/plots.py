"""Plots for papers and notebooks: quality against k and against cost, where quality is lost, and slices.

Colours are those of Okabe and Ito (2008), told apart by the colour-blind; shapes and words say the same once more.
The same facts give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench.artifacts import Writer, write_beside
from bench.errors import BenchError, check_one_of, did_you_mean
from bench.report import drawing
from bench.report.drawing import COLOURS
from bench.report.looks import looks
from bench.report.scales import costs, linear
from bench.report.sentences import interaction_sentence
from bench.report.words import Words
from bench.statistics.findings import LATENCY, TOKENS, Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DPI = 7.2, 4.4, 200
"""Inches of a plot, and dots an inch of a PNG."""
MOST = 12
"""More lines than these cannot be told apart: those lowest at the largest k are left out, and that is said."""
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "font.size": 9.5, "axes.titlesize": 11, "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E3E3E3",
    "axes.axisbelow": True, "svg.hashsalt": "bench", "svg.fonttype": "path", "text.parse_math": False,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Plot:
    """A plot that a notebook shows and that is written as PNG or SVG."""

    figure: Figure

    def as_bytes(self, form: str) -> bytes:
        """The file that it makes, as `png` or `svg`: neither holds a date or a version."""
        from matplotlib import rc_context

        check_one_of("the form of a plot", form, ("png", "svg"))
        out = io.BytesIO()
        none: dict[str, Any] = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
        with rc_context(STYLE):
            self.figure.savefig(out, format=form, dpi=DPI, metadata=none)
        return out.getvalue()

    def writer(self, form: str) -> Writer:
        """What writes it in a form."""
        content = self.as_bytes(form)
        return lambda path: path.write_bytes(content)

    def save(self, path: str | Path) -> Path:
        """Write it; the ending of the name says the form."""
        file = Path(path)
        write_beside(file, self.writer(file.suffix.removeprefix(".").lower()))
        return file

    def _repr_png_(self) -> bytes:
        return self.as_bytes("png")


def quality(findings: Findings, *, measure: str | None = None, lang: str = "en") -> Plot:
    """A measure against k, a line a system with the band of its intervals and its name at the end.

    `measure` is a column of the grid; None for the one on which k is chosen.
    """
    words, name = Words(lang), _measure(findings, measure or findings.deciding)
    every = [c for c in findings.curves if c.measure == name and any(f.mean is not None for _, f in c.points)]
    curves = sorted(every, key=drawing.last, reverse=True)[:MOST]
    drawn = looks(findings.systems, findings.cells, findings.steps)

    def draw(axes: Axes) -> None:
        ks = sorted({k for curve in curves for k, _ in curve.points})
        for curve in curves:
            drawing.line(axes, curve, drawn[curve.system], ks)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks])
        axes.set_xlim(-0.15, max(len(ks) - 1, 1) + 0.05)
        drawing.upright(axes, [e for c in curves for _, f in c.points for e in (f.mean, f.lo, f.hi)], words)
        axes.set_xlabel("k")
        left_out = f" ({len(curves)} / {len(every)})" if len(every) > len(curves) else ""
        axes.set_title(f"{words.measure(name)}@k, {findings.collection}{left_out}")
        drawing.named_ends(axes, curves, drawn)

    return _plot(draw, height=max(HEIGHT, 0.24 * len(curves) + 1.2))


def trade_off(
    findings: Findings,
    *,
    measure: str | None = None,
    cost: str = LATENCY,
    k: int | None = None,
    lang: str = "en",
) -> Plot:
    """A measure against a cost (`latency` or `tokens`): every cell a point, the Pareto front a line through its own.

    Over all k where the measure allows that, else at one: `k`, or that of the report.
    """
    check_one_of("cost", cost, (LATENCY, TOKENS))
    words, name = Words(lang), _measure(findings, measure or findings.deciding)
    at = None if name in findings.across_k else k or findings.k
    fronts = [f for f in findings.fronts if (f.measure, f.cost) == (name, cost) and (at is None or f.k == at)]
    points = fronts[0].points if fronts else ()
    if not points:
        raise BenchError(f"{findings.collection}: no cell has both {words.measure(name, at)} and its {cost}")
    drawn = looks(findings.systems, findings.cells, findings.steps)

    def draw(axes: Axes) -> None:
        front = [point for point in points if point.on_front]
        axes.step(
            [p.cost for p in front],
            [p.quality for p in front],
            where="post",
            color="#777777",
            lw=1.2,
            zorder=1,
        )
        for point in points:
            drawing.mark(axes, point, drawn[point.system])
        scale = costs([p.cost for p in points])
        axes.set_xscale("log" if scale.log else "linear")
        axes.set_xlim(scale.low, scale.high + (0 if scale.log else 0.03 * scale.high))
        axes.set_xticks(scale.ticks, [words.tick(tick) for tick in scale.ticks])
        axes.minorticks_off()
        drawing.upright(axes, [p.quality for p in points], words)
        axes.set_xlabel("ms, p50" if cost == LATENCY else "tokens")
        axes.set_title(f"{words.measure(name, at)}, {findings.collection}")
        drawing.key(axes, drawn, [s for s in findings.systems if any(p.system == s for p in points)])
        drawing.beside_points(axes, [(p.cost, p.quality, f"k={p.k}", p.on_front) for p in points])

    return _plot(draw, height=HEIGHT)


def losses(budget: pd.DataFrame, *, title: str = "") -> Plot:
    """Where quality is lost: a bar a system, a part of it for each cause.

    `budget` is tidy, with the columns `system`, `part` and `loss` (a mean from 0 to 1); rows stand as they come.
    """
    lacking = [name for name in ("system", "part", "loss") if name not in budget]
    if lacking or budget.empty:
        raise BenchError(
            f"a loss budget has rows with system, part and loss; missing: {', '.join(lacking) or 'rows'}"
        )
    wide = budget.pivot_table(index="system", columns="part", values="loss", aggfunc="mean", sort=False)

    def draw(axes: Axes) -> None:
        before = pd.Series(0.0, index=wide.index)
        for number, part in enumerate(wide.columns):
            lengths = wide[part].fillna(0.0)
            colour, hatch = (
                COLOURS[number % len(COLOURS)],
                ("", "///", "...", "xx")[number // len(COLOURS) % 4],
            )
            bars = axes.barh(
                wide.index.map(str), lengths, left=before, color=colour, label=str(part), hatch=hatch
            )
            wide_enough = [
                f"{length:.3f}" if length > 0.06 * wide.sum(axis=1).max() else "" for length in lengths
            ]
            axes.bar_label(bars, wide_enough, label_type="center", color="white", fontsize=8.5)
            before = before + lengths
        scale = linear([0.0, float(before.max())])
        axes.set_xlim(0, 1.02 * scale.high)
        axes.set_xticks(scale.ticks, [f"{tick:g}" for tick in scale.ticks])
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False)
        axes.set_title(title, pad=34)

    return _plot(draw, height=1.6 + 0.34 * len(wide))


def slices(
    findings: Findings, *, key: str | None = None, measure: str | None = None, lang: str = "en"
) -> Plot:
    """A measure at the report's k by a metadata key of the queries: a row a value, a column a system.

    `key` None is the first that there is. What the test of the interaction says stands below.
    """
    words, name = Words(lang), _measure(findings, measure or findings.measure)
    keys = list(dict.fromkeys(one.key for one in findings.slices))
    if not keys or (key is not None and key not in keys):
        raise BenchError(
            f"{findings.collection}: its queries have no slices by {key or 'any key'}{did_you_mean(key or '', keys)}"
        )
    key = key or keys[0]
    rows = [one for one in findings.slices if one.key == key]
    values = [
        [(f.mean if (f := one.values.get((s, findings.k), {}).get(name)) else None) for s in findings.systems]
        for one in rows
    ]
    said = next((interaction_sentence(one, words) for one in findings.interactions if one.key == key), "")

    def draw(axes: Axes) -> None:
        drawing.heat(axes, values, words)
        axes.set_yticks(
            range(len(rows)), [f"{drawing.short(one.value) or '-'} ({one.queries})" for one in rows]
        )
        axes.set_xticks(
            range(len(findings.systems)),
            [drawing.short(s) for s in findings.systems],
            rotation=35,
            ha="right",
        )
        below = drawing.wrapped(said)
        axes.text(0, 1.0, below, transform=axes.transAxes, fontsize=8.5, va="bottom", linespacing=1.3)
        title = f"{words.measure(name, findings.k)} / {key}, {findings.collection}"
        axes.set_title(title, pad=8 + 12 * len(below.splitlines()))

    width = max(WIDTH, 2.6 + 0.62 * len(findings.systems))
    return _plot(draw, height=2.4 + 0.32 * len(rows), width=width)


PLOTS: Mapping[str, Callable[..., Plot]] = {"quality": quality, "trade_off": trade_off, "slices": slices}
"""Those that findings alone make, by name."""


def _plot(draw: Callable[[Axes], None], *, height: float, width: float = WIDTH) -> Plot:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Made

    with rc_context(STYLE):
        figure = Made(figsize=(width, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
    return Plot(figure)


def _measure(findings: Findings, name: str) -> str:
    if name not in findings.measures:
        raise BenchError(
            f"{findings.collection} has no values of '{name}'{did_you_mean(name, findings.measures)}"
        )
    return name
