"""Quality against k: a line a system with the band of its intervals, its name at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bench.report.frame import TOP, WIDE, Pane, joined, percent, titled
from bench.report.looks import Look
from bench.report.scales import apart, linear, ordinal
from bench.report.words import Words
from bench.statistics.findings import Curve, Figure

LINE = 19
"""Pixels between the names at the ends of the lines."""


def curves_chart(
    curves: Sequence[Curve], *, looks: Mapping[str, Look], cells: Mapping[tuple[str, int], int], words: Words
) -> Markup:
    """One measure of every system against k; k stand in equal steps, whatever lies between them.

    `cells` has the number of each (system, k) for the scripts. Empty where there is nothing to draw.
    """
    ks = sorted({k for curve in curves for k, _ in curve.points})
    across = dict(zip(ks, ordinal(len(ks)), strict=True)) if ks else {}
    lines = [line for curve in curves if (line := _Line.of(curve, looks[curve.system], across)).known]
    if not lines:
        return Markup("")
    ends = [end for line in lines for _, f in line.known for end in (f.mean, f.lo, f.hi) if end is not None]
    pane = Pane(linear(ends, floor=0.0), max(280.0, LINE * len(lines) - 10.0))
    marks = [line.look.marks(line.marks(pane, cells, words)) for line in lines]
    body = joined(
        [
            pane.grid(),
            *pane.below({str(k): across[k] for k in ks}, columns=True),
            pane.stretched([*(line.band(pane) for line in lines), *(line.stroke(pane) for line in lines)]),
            *marks,
        ]
    )
    measure, named = curves[0].measure, words.measure(curves[0].measure)
    said = words("curves_said", measure=named, systems=len(lines), ks=", ".join(map(str, ks)))
    return Markup('<div class="chart lines{}"><p class="y-name">{}</p>{}{}{}</div>').format(
        "" if curves[0].across_k else " apart",
        words("axis_measure", measure=f"{words.measure(measure)}@k"),
        pane.beside(words),
        pane.plot(body, said=said, below=words("axis_k")),
        _names(lines, pane, words),
    )


def whisker(difference: float, interval: tuple[float, float] | None, *, reach: float) -> Markup:
    """A difference and its interval on an axis from -reach to reach, as small as a cell of a table."""

    def at(value: float) -> str:
        return percent(0.5 + 0.48 * min(max(value / reach, -1), 1))

    line, side = Markup(""), "open"
    if interval is not None:
        side = "up" if interval[0] > 0 else "down" if interval[1] < 0 else "open"
        line = Markup('<line x1="{}" x2="{}" y1="7" y2="7"/>').format(*map(at, interval))
    return Markup(
        '<svg class="whisker {}" aria-hidden="true">{}<circle cx="{}" cy="7" r="3.2"/></svg>'
    ).format(side, line, at(difference))


@dataclass(frozen=True)
class _Line:
    """One system in the chart: the k at which it has a mean, and where these lie across."""

    system: str
    look: Look
    known: Sequence[tuple[int, Figure]]
    across: Mapping[int, float]

    @classmethod
    def of(cls, curve: Curve, look: Look, across: Mapping[int, float]) -> _Line:
        known = [(k, figure) for k, figure in curve.points if figure.mean is not None]
        return cls(curve.system, look, known, across)

    @property
    def last(self) -> float:
        """Its mean at its largest k."""
        return self.known[-1][1].mean or 0.0

    def marks(self, pane: Pane, cells: Mapping[tuple[str, int], int], words: Words) -> list[Markup]:
        return [
            self.look.mark(
                x=percent(self.across[k]),
                y=f"{pane.up(figure.mean or 0.0):.1f}",
                title=titled(f"{self.system}, k={k}: {words.figure(figure)}", cells),
                cell=cells[self.system, k],
            )
            for k, figure in self.known
        ]

    def stroke(self, pane: Pane) -> Markup:
        points = " ".join(f"{WIDE * self.across[k]:.0f},{pane.up(f.mean or 0.0):.1f}" for k, f in self.known)
        return Markup('<polyline class="l {}" data-s="{}" points="{}"/>').format(
            self.look.classes, self.look.number, points
        )

    def band(self, pane: Pane) -> Markup:
        """The intervals, joined; that of a single k as a narrow upright."""
        ends = [
            (WIDE * self.across[k], pane.up(f.lo), pane.up(f.hi))
            for k, f in self.known
            if f.lo is not None and f.hi is not None
        ]
        if len(ends) == 1:
            x, low, high = ends[0]
            ends = [(x - 4, low, high), (x + 4, low, high)]
        there = [f"{x:.0f},{high:.1f}" for x, _, high in ends]
        back = [f"{x:.0f},{low:.1f}" for x, low, _ in reversed(ends)]
        return Markup('<polygon class="b {}" data-s="{}" points="{}"/>').format(
            self.look.classes, self.look.number, " ".join(there + back)
        )


def _names(lines: Sequence[_Line], pane: Pane, words: Words) -> Markup:
    """The names at the ends of the lines, kept apart, with a thread to where each line ends."""
    wanted = [pane.up(line.last) for line in lines]
    places = apart(wanted, gap=LINE, low=TOP, high=pane.foot)
    threads, names = [], []
    for place, y, line in sorted(zip(places, wanted, lines, strict=True), key=lambda one: one[0]):
        look = line.look
        threads.append(
            Markup('<line class="thread {}" data-s="{}" x1="0" y1="{}" x2="22" y2="{}"/>').format(
                look.classes, look.number, f"{y:.1f}", f"{place:.1f}"
            )
        )
        names.append(
            Markup('<li style="top:{}px" data-s="{}">{}<span class="name">{}</span> <b>{}</b></li>').format(
                f"{place:.1f}", look.number, look.key, line.system, words.number(line.last)
            )
        )
    return Markup(
        '<svg class="threads" width="24" height="{}" aria-hidden="true">{}</svg><ol class="names">{}</ol>'
    ).format(f"{pane.whole:.0f}", joined(threads), joined(names))
