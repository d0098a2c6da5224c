"""How a system is drawn, the same in every chart: colour and shape by what retrieves, filled by what reranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bench.statistics.findings import Cell, Step

COLOURS = 7
"""Of Okabe and Ito (2008), darkened or lightened to stand out from the page; `page.css` has them by number."""
SHAPES = (
    '<circle r="4.6"/>',
    '<path d="M-4.3-4.3h8.6v8.6h-8.6z"/>',
    '<path d="M0-6.2L6.2 0 0 6.2-6.2 0z"/>',
    '<path d="M0-5.8L5.6 4.4H-5.6z"/>',
    '<path d="M0 5.8L5.6-4.4H-5.6z"/>',
    '<path d="M-2-5.6h4V-2h3.6v4H2v3.6h-4V2h-3.6v-4H-2z"/>',
)
"""Each about 60 square units around the origin, so that none looks more important."""
NO_RERANKER = "none"


@dataclass(frozen=True)
class Look:
    """How one system is drawn."""

    number: int
    """Its place among the systems."""
    colour: int
    """From 1."""
    shape: int
    variant: int
    """0 without a reranker, else which reranker, from 1."""

    @property
    def classes(self) -> str:
        """For a mark, a line or a band of it."""
        return f"c{self.colour} v{min(self.variant, 3)}"

    def mark(self, *, x: str, y: str, title: str, cell: int) -> Markup:
        """A mark of its shape in a chart, for `marks`; the scripts know the cell by its number."""
        at = f'href="#m{self.shape}" x="{x}" y="{y}" data-i="{cell}"'
        if not title:
            return Markup(f"<use {at}/>")
        return Markup(f"<use {at}><title>{{}}</title></use>").format(title)

    def marks(self, marks: Sequence[Markup]) -> Markup:
        """All its marks in a chart."""
        return Markup('<g class="m {}" data-s="{}">{}</g>').format(
            self.classes, self.number, Markup("").join(marks)
        )

    @property
    def key(self) -> Markup:
        """Its mark beside its name."""
        return Markup('<svg class="key m {}" aria-hidden="true"><use href="#m{}"/></svg>').format(
            self.classes, self.shape
        )


def looks(systems: Sequence[str], cells: Sequence[Cell], steps: Sequence[Step]) -> Mapping[str, Look]:
    """The look of every system. Those that differ in the reranker alone share colour and shape."""
    rerankers = {cell.system: cell.options.get("reranker") or NO_RERANKER for cell in cells}
    without = {step.system: step.without for step in steps if step.without is not None}
    bases: dict[str, int] = {}
    variants: dict[str, list[str]] = {}
    made = {}
    for number, system in enumerate(systems):
        reranker = rerankers.get(system, NO_RERANKER)
        base = without.get(system, system.replace(f"+{reranker}", "", 1))
        place = bases.setdefault(base, len(bases))
        with_one = variants.setdefault(base, [])
        if reranker != NO_RERANKER:
            with_one.append(system)
        variant = 0 if reranker == NO_RERANKER else len(with_one)
        made[system] = Look(number, 1 + place % COLOURS, place % len(SHAPES), variant)
    return made


def symbols() -> Markup:
    """The shapes, once for the whole page."""
    shapes = "".join(f'<g id="m{i}">{shape}</g>' for i, shape in enumerate(SHAPES))
    return Markup(f'<svg class="defs" width="0" height="0" aria-hidden="true"><defs>{shapes}</defs></svg>')
