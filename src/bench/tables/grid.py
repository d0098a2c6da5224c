"""The table of a grid: rows systems, columns k and token budgets, the lenses side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.metrics import MEASURES
from bench.statistics.marks import marks
from bench.tables.marks import legend

LENSES = ("recall", "ndcg", "precision", "mrr")
"""The measures that are shown first: what is found, in which order, among how much noise, how soon."""
References = Mapping[str, Mapping[tuple[str, int], float]]
"""The means of each reference system by lens and k: see `bench.references`."""


def comparison(
    grid: pd.DataFrame,
    *,
    budgets: pd.DataFrame | None = None,
    references: Mapping[str, References] | None = None,
    width: int = 100,
) -> RenderableType:
    """Rows systems, columns k, one block a lens, latency last; the best of a column is marked with a star.

    What ties or missing judgements could change is marked, and a line below says how. Cells of `budgets` stand
    behind those of a k, as `R@500t`; the reference systems of a collection by its name stand below, in brackets.
    The blocks stand side by side as far as `width` characters allow.
    """
    tables: list[RenderableType] = []
    for name, cells in grid[grid["status"] == "ok"].groupby("collection", sort=True):
        within = [] if budgets is None else budgets[budgets["collection"] == name].to_dict("records")
        done = [row for row in within if row["status"] == "ok"]
        shown = _Shown(cells.to_dict("records"), done, (references or {}).get(str(name), {}))
        tables.append(Text(f"{name}: {shown.queries}", style="bold"))
        room = shown.room(width)
        for start in range(0, len(shown.lenses), room):
            last = start + room >= len(shown.lenses)
            tables.append(_block(shown, shown.lenses[start : start + room], latency=last))
        star = "*" if len(shown.systems) > 1 else ""
        if line := legend(star + "".join(mark for column in shown.columns for mark in shown.marks(*column))):
            tables.append(Text(line))
    return Group(*tables)


@dataclass(frozen=True, eq=False)
class _Shown:
    """The cells of one collection: those of a k, those of a budget, and the reference systems."""

    at: Sequence[Mapping[Any, Any]]
    within: Sequence[Mapping[Any, Any]]
    references: References

    @cached_property
    def cells(self) -> dict[tuple[str, str], Mapping[Any, Any]]:
        """By system and by what stands behind the @ in a column's head."""
        at = {(str(row["system"]), str(row["k"])): row for row in self.at}
        return at | {(str(row["system"]), f"{row['budget']}t"): row for row in self.within}

    @cached_property
    def cuts(self) -> list[str]:
        """What stands behind the @, k first, each rising."""
        ks = sorted({row["k"] for row in self.at})
        return [*map(str, ks), *(f"{budget}t" for budget in sorted({row["budget"] for row in self.within}))]

    @cached_property
    def systems(self) -> list[str]:
        """Their labels, in the order of the grid."""
        return list(dict.fromkeys(str(row["system"]) for row in self.at))

    @cached_property
    def lenses(self) -> list[str]:
        """The lenses that have a figure."""
        return [lens for lens in LENSES if any(pd.notna(row[lens]) for row in self.at)]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Lens and cut of every column."""
        return [(lens, cut) for lens in self.lenses for cut in self.cuts]

    @property
    def queries(self) -> str:
        """Over how many queries the means are, and how many they leave out."""
        counts = {int(row["queries"]) for row in self.at}
        told = f"{min(counts)} queries" if len(counts) == 1 else f"{min(counts)} to {max(counts)} queries"
        nothing = max(int(row.get("no_relevant") or 0) for row in self.at)
        return f"{told} ({nothing} more have nothing to find)" if nothing else told

    @property
    def label(self) -> int:
        """How wide the column of the systems is."""
        return min(max(map(len, (*self.systems, *map(_bracketed, self.references), "system"))), 40)

    def column(self, lens: str, cut: str) -> list[Mapping[Any, Any]]:
        """The cells of a column that have a figure."""
        every = (self.cells.get((system, cut), {}) for system in self.systems)
        return [row for row in every if _is_there(row.get(lens))]

    def marks(self, lens: str, cut: str) -> list[str]:
        """The marks of every figure of a column."""
        return [marks(row, lens) for row in self.column(lens, cut)]

    def room(self, width: int) -> int:
        """How many blocks stand side by side."""
        # A column is as wide as its head or its figure with star and marks, and has two blanks beside it.
        figures = {
            cut: 6 + max((len(mark) for lens in self.lenses for mark in self.marks(lens, cut)), default=0)
            for cut in self.cuts
        }
        block = sum(max(figures[cut], len(_head("ndcg", cut))) + 2 for cut in self.cuts)
        room = max(1, (width - self.label - 2) // block)
        last = (len(self.lenses) - 1) % room + 1
        narrow = self.label + 2 + last * block + len("ms p50") + 2 > width
        return max(1, room - 1) if narrow else room

    def milliseconds(self, system: str) -> str:
        """The median latency at the largest k of a system."""
        deepest = max((row for row in self.at if row["system"] == system), key=lambda row: row["k"])
        value: Any = deepest.get("latency_p50_ms")
        if not _is_there(value):
            return "-"
        return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _block(shown: _Shown, lenses: Sequence[str], *, latency: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("system", width=shown.label, overflow="fold", no_wrap=False)
    columns = [(lens, cut) for lens, cut in shown.columns if lens in lenses]
    timed = latency and any(_is_there(row.get("latency_p50_ms")) for row in shown.at)
    for head in (*(_head(*column) for column in columns), *(["ms p50"] if timed else [])):
        table.add_column(head, justify="right", no_wrap=True)
    several = len(shown.systems) > 1
    best = {column: max((row[column[0]] for row in shown.column(*column)), default=0.0) for column in columns}
    room = {column: max(map(len, shown.marks(*column)), default=0) for column in columns}
    for system in shown.systems:
        figures = []
        for lens, cut in columns:
            cell = shown.cells.get((system, cut), {})
            figures.append(
                _figure(
                    cell,
                    lens,
                    best[lens, cut],
                    several=several,
                    room=room[lens, cut],
                    head=len(_head(lens, cut)),
                )
            )
        table.add_row(system, *figures, *([shown.milliseconds(system)] if timed else []))
    for name, means in shown.references.items():
        figures = []
        for lens, cut in columns:
            cell = {lens: means.get((lens, int(cut)))} if cut.isdigit() else {}
            figures.append(
                _figure(
                    cell,
                    lens,
                    float("inf"),
                    several=several,
                    room=room[lens, cut],
                    head=len(_head(lens, cut)),
                )
            )
        table.add_row(_bracketed(name), *figures, style="dim")
    return table


def _figure(cell: Mapping[Any, Any], lens: str, best: float, *, several: bool, room: int, head: int) -> Text:
    """A figure with its star and its marks, for which `room` is kept in the column, so that figures stand in line.

    `head` is how wide the head of the column is.
    """
    value = cell.get(lens)
    if not _is_there(value):
        return Text("-")
    # Equal as printed is equal: a star that a fourth decimal decides would say more than the table shows.
    top = several and f"{value:.3f}" == f"{best:.3f}"
    behind = ("*" if top else " " if several else "") + marks(cell, lens).ljust(room)
    # To the right of its column it would lose its last blanks.
    return Text(f"{value:.3f}{behind}".rjust(head), style="bold" if top else "", justify="left")


def _head(lens: str, cut: str) -> str:
    return f"{MEASURES[lens]}@{cut}"


def _bracketed(reference: str) -> str:
    return f"({reference})"


def _is_there(value: Any) -> bool:
    return value is not None and not pd.isna(value)
