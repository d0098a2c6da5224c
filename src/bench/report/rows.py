"""The rows of the page's tables: places, cells, reference systems, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.report.sentences import interaction_sentence
from bench.report.words import Words
from bench.statistics.findings import NOTHING, OK, Cell, Figure, Findings, Slice

_SAME = 1e-12
"""Means no farther apart are both the best."""


@dataclass(frozen=True)
class Place:
    """One system among the others."""

    system: str
    mean: float
    interval: str
    best_share: float
    p: float
    can_be_best: bool


@dataclass(frozen=True)
class Shown:
    """A figure in a table."""

    value: Figure
    best: bool
    sign: str
    """`up` or `down` where it is told from the baseline."""


@dataclass(frozen=True)
class CellRow:
    """One cell with its figures, in the order of the columns; none unless it is ok."""

    cell: Cell
    figures: Sequence[Shown]
    judged: Figure


@dataclass(frozen=True)
class ReferenceRow:
    """The means of a reference system, None where it has none."""

    name: str
    k: int
    values: Sequence[float | None]


@dataclass(frozen=True)
class SliceRow:
    """One system, a figure a slice, and whether that is the best of the slice."""

    system: str
    figures: Sequence[Figure | None]
    best: Sequence[bool]


@dataclass(frozen=True)
class SliceKey:
    """The slices of one key, and a table of them a measure."""

    name: str
    said: str
    slices: Sequence[Slice]
    tables: Sequence[tuple[str, Sequence[SliceRow]]]


def places(facts: Findings, words: Words) -> list[Place]:
    """The systems by mean."""
    if facts.overview is None:
        return []
    found = []
    for place in facts.overview.standings.places:
        interval = facts.overview.intervals.get(place.system)
        said = words.interval(Figure(mean=place.mean, lo=interval.lo, hi=interval.hi)) if interval else ""
        found.append(Place(place.system, place.mean, said, place.best_share, place.p, place.can_be_best))
    return found


def cell_rows(facts: Findings, columns: Sequence[str]) -> list[CellRow]:
    """Every cell, in the order of the grid."""
    done = [cell for cell in facts.cells if cell.status == OK]
    best = {
        (name, k): _best([cell.values.get(name) for cell in done if cell.k == k])
        for name in columns
        for k in facts.ks
    }
    rows = []
    for cell in facts.cells:
        figures = []
        for name in columns if cell.status == OK else ():
            value = cell.values.get(name, NOTHING)
            tops = _equal(value, best[name, cell.k])
            figures.append(Shown(value, tops, _sign(facts, cell, name)))
        rows.append(CellRow(cell, figures, cell.values.get("judged", NOTHING)))
    return rows


def reference_rows(facts: Findings, columns: Sequence[str], words: Words) -> list[ReferenceRow]:
    """Each reference system at the k of the tests."""
    at = {name: facts.references.get((name, facts.k), {}) for name in columns}
    names = dict.fromkeys(name for means in at.values() for name in means)
    return [
        ReferenceRow(
            words(name) if words.has(name) else name, facts.k, [means.get(name) for means in at.values()]
        )
        for name in names
    ]


def slice_keys(facts: Findings, measures: Sequence[str], words: Words) -> list[SliceKey]:
    """The keys of the queries' metadata, with their slices at the k of the tests."""
    found = []
    for key in dict.fromkeys(slice_.key for slice_ in facts.slices):
        slices = [slice_ for slice_ in facts.slices if slice_.key == key]
        tables = [(name, rows) for name in measures if (rows := _slice_rows(facts, slices, name))]
        said = [interaction_sentence(one, words) for one in facts.interactions if one.key == key]
        found.append(SliceKey(key, " ".join(said), slices, tables))
    return found


def _slice_rows(facts: Findings, slices: Sequence[Slice], name: str) -> list[SliceRow]:
    def at(slice_: Slice, system: str) -> Figure | None:
        by: Mapping[str, Figure] = slice_.values.get((system, facts.k), {})
        return by.get(name)

    best = [_best([at(one, system) for system in facts.systems]) for one in slices]
    rows = []
    for system in facts.systems:
        figures = [at(one, system) for one in slices]
        bold = [_equal(figure, highest) for figure, highest in zip(figures, best, strict=True)]
        rows.append(SliceRow(system, figures, bold))
    return [row for row in rows if any(figure is not None for figure in row.figures)]


def _sign(facts: Findings, cell: Cell, name: str) -> str:
    change = facts.significance.get(cell.system)
    if change is None or (name, cell.k) != (facts.measure, facts.k) or not change.significant:
        return ""
    return "up" if change.difference > 0 else "down"


def _best(figures: Sequence[Figure | None]) -> float | None:
    """The highest mean, None where none is higher than another."""
    means = [one.mean for one in figures if one is not None and one.mean is not None]
    return max(means) if means and max(means) - min(means) > _SAME else None


def _equal(figure: Figure | None, best: float | None) -> bool:
    if figure is None or figure.mean is None or best is None:
        return False
    return abs(figure.mean - best) <= _SAME
