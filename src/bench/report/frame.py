"""What every chart stands in: its room, the lines at round figures, and what is written beside and below.

Across, places are in per cent of the room there is; up and down, in pixels. So one drawing serves a desk, a phone and
paper. What needs both directions at once (lines, bands) is in an inner drawing that is stretched; marks and text are
not, and keep their shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bench.report.scales import Scale
from bench.report.words import Words

TOP, BOTTOM = 14, 34
"""Room in pixels above the highest value, and below the lowest for what is written under the axis."""
TITLED = 100
"""Marks of so many cells have a title each."""
WIDE = 1000
"""Units across of a drawing that is stretched."""


@dataclass(frozen=True)
class Pane:
    """The room of a chart: its scale, and how high it is from the lowest value to the highest."""

    scale: Scale
    height: float

    @property
    def whole(self) -> float:
        """With the room above and below."""
        return TOP + self.height + BOTTOM

    @property
    def foot(self) -> float:
        """Where the axis across lies."""
        return TOP + self.height

    def up(self, value: float) -> float:
        """How far down from the top a value lies."""
        return TOP + self.height * (1 - self.scale.at(value))

    def grid(self) -> Markup:
        """A line at each round figure."""
        lines = "".join(
            f'<line x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>' for y in map(self.up, self.scale.ticks)
        )
        return Markup(f'<g class="grid">{lines}</g>')

    def beside(self, words: Words) -> Markup:
        """The figures at the lines."""
        texts = joined(
            Markup('<text x="38" y="{}">{}</text>').format(f"{self.up(tick) + 4:.1f}", words.tick(tick))
            for tick in self.scale.ticks
        )
        return Markup('<svg class="scale" width="44" height="{}" aria-hidden="true">{}</svg>').format(
            f"{self.whole:.0f}", texts
        )

    def below(self, ticks: Mapping[str, float], *, columns: bool) -> Iterator[Markup]:
        """What is written under the axis by its place across, with a line up to the top or a short one."""
        for text, share in ticks.items():
            top = TOP if columns else self.foot
            yield Markup(
                '<line class="column" x1="{x}" x2="{x}" y1="{top:.0f}" y2="{end:.0f}"/>'
                '<text class="tick" x="{x}" y="{down:.0f}">{text}</text>'
            ).format(x=percent(share), top=top, end=self.foot + 5, down=self.foot + 19, text=text)

    def stretched(self, parts: Sequence[Markup]) -> Markup:
        """Lines and bands in a drawing that is stretched across."""
        return Markup(
            '<svg width="100%" height="{0}" viewBox="0 0 {1} {0}" preserveAspectRatio="none">{2}</svg>'
        ).format(f"{self.whole:.0f}", WIDE, joined(parts))

    def plot(self, body: Markup, *, said: str, below: str) -> Markup:
        """The drawing itself; `said` is what it is to those who don't see it."""
        return Markup(
            '<div class="plot"><svg role="img" aria-label="{}" width="100%" height="{}">{}</svg>'
            '<p class="x-name">{}</p></div>'
        ).format(said, f"{self.whole:.0f}", body, below)


def titled(text: str, cells: Mapping[tuple[str, int], int]) -> str:
    """What a mark says without scripts; nothing where there are so many that the page would grow too large."""
    return text if len(cells) <= TITLED else ""


def percent(share: float) -> str:
    """A place across."""
    return f"{100 * share:.1f}%"


def joined(parts: Iterator[Markup] | Sequence[Markup]) -> Markup:
    """One after the other."""
    return Markup("").join(parts)
