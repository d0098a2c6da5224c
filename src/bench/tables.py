"""Tables for a terminal: systems by k, the lenses side by side, and the slices of one system."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.metrics import MEASURES
from bench.side_tables import between_collections


class Results(Protocol):
    """What a command found: see `bench.api.Results`."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    @property
    def grid(self) -> pd.DataFrame:
        """One row a cell."""

    @property
    def per_query(self) -> pd.DataFrame:
        """One row a query of a cell."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should hear."""

    @property
    def left_out(self) -> int:
        """How many jobs the tables leave out because their collection has changed."""

    @property
    def missing(self) -> int:
        """How many of the cells that were asked for are not in the grid."""

    @property
    def plan(self) -> str | None:
        """What a dry run would have done."""

    def queries(self, collection: str) -> dict[str, dict[str, Any]]:
        """The queries of a collection by id."""


LENSES = ("recall", "ndcg", "precision", "mrr")
"""The measures that are shown first: what is found, in which order, among how much noise, how soon."""


def comparison(grid: pd.DataFrame, *, width: int = 100) -> RenderableType:
    """Rows systems, columns k, one block a lens, latency last; the best of a column is marked with a star.

    The blocks stand side by side as far as `width` characters allow.
    """
    tables: list[RenderableType] = []
    for name, cells in grid[grid["status"] == "ok"].groupby("collection", sort=True):
        systems = list(dict.fromkeys(cells["system"]))
        ks = sorted(cells["k"].unique())
        label = min(max(map(len, (*systems, "system"))), 40)
        # A column is as wide as its header or its figure with a star, and has two blanks beside it.
        column = [max(6, len(MEASURES["ndcg"].at(k))) + 2 for k in ks]
        room = max(1, (width - label - 2) // sum(column))
        lenses = [lens for lens in LENSES if cells[lens].notna().any()]
        last = (len(lenses) - 1) % room + 1
        if label + 2 + last * sum(column) + len("ms p50") + 2 > width:
            room = max(1, room - 1)
        counts = cells["queries"].agg(["min", "max"]).astype(int)
        queries = (
            str(counts["max"]) if counts["min"] == counts["max"] else f"{counts['min']} to {counts['max']}"
        )
        tables.append(Text(f"{name}: {queries} queries", style="bold"))
        for start in range(0, len(lenses), room):
            blocks = lenses[start : start + room]
            tables.append(
                _block(cells, systems, ks, blocks, label=label, latency=start + room >= len(lenses))
            )
    return Group(*tables)


def _block(
    cells: pd.DataFrame,
    systems: Sequence[str],
    ks: Sequence[int],
    lenses: Sequence[str],
    *,
    label: int,
    latency: bool,
) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("system", width=label, overflow="fold", no_wrap=False)
    columns = [(lens, k) for lens in lenses for k in ks]
    for lens, k in columns:
        table.add_column(MEASURES[lens].at(k), justify="right", no_wrap=True)
    timed = latency and cells["latency_p50_ms"].notna().any()
    if timed:
        table.add_column("ms p50", justify="right", no_wrap=True)
    values = {(row["system"], row["k"]): row for row in cells.to_dict("records")}
    best = {(lens, k): cells.loc[cells["k"] == k, lens].max() for lens, k in columns}
    for system in systems:
        figures = [
            _figure(values.get((system, k), {}).get(lens), best[lens, k], len(systems)) for lens, k in columns
        ]
        if timed:
            deepest = next((values[system, k] for k in reversed(ks) if (system, k) in values), {})
            figures.append(Text(_milliseconds(deepest.get("latency_p50_ms"))))
        table.add_row(system, *figures)
    return table


def _figure(value: float | None, best: float, systems: int) -> Text:
    if value is None or pd.isna(value):
        return Text("-")
    # Equal as printed is equal: a star that a fourth decimal decides would say more than the table shows.
    top = systems > 1 and f"{value:.3f}" == f"{best:.3f}"
    return Text(f"{value:.3f}{'*' if top else ' ' if systems > 1 else ''}", style="bold" if top else "")


def _milliseconds(value: float | None) -> str:
    if value is None or pd.isna(value):
        return "-"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def slices(per_query: pd.DataFrame, *, by: Mapping[str, str], k: int) -> Table:
    """The lenses of one system at one k by a property of the queries, with the number of queries in each."""
    cells = per_query[per_query["k"] == k].assign(slice=lambda frame: frame["query_id"].map(by))
    lenses = [lens for lens in (*LENSES, "complete") if cells[lens].notna().any()]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("query type")
    table.add_column("queries", justify="right")
    for lens in lenses:
        table.add_column(MEASURES[lens].at(k), justify="right")
    counted = cells[cells[lenses].notna().any(axis=1)]
    for name, rows in counted.groupby("slice", sort=True):
        table.add_row(str(name), str(len(rows)), *(_mean(rows[lens]) for lens in lenses))
    table.add_row("all", str(len(counted)), *(_mean(counted[lens]) for lens in lenses), style="bold")
    return table


def _mean(values: pd.Series) -> str:
    return f"{values.mean():.3f}" if values.notna().any() else "-"


def troubles(grid: pd.DataFrame) -> list[str]:
    """One line for every job that failed or was skipped."""
    wrong = grid[grid["status"] != "ok"].to_dict("records")
    return list(
        dict.fromkeys(f"{r['status']}: {r['system']} on {r['collection']}: {r['reason']}" for r in wrong)
    )


def shown(content: RenderableType) -> None:
    """Print to standard output: plain where it is no terminal, at least 100 columns wide."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(100, console.width), no_color=True)
    console.print(content)


def told(results: Results) -> int:
    """Print what a command found; 1 if a cell failed, else 0."""
    if results.plan is not None:
        print(results.plan)
        return 0
    grid = results.grid
    if (grid["status"] == "ok").any():
        shown(comparison(grid))
    done = grid[grid["status"] == "ok"]
    for table in between_collections(done):
        shown(table)
    if len(done) and all(grid[name].nunique() == 1 for name in ("system_id", "collection", "seed")):
        types = {
            query: str(about["metadata"].get("type", "")) for query, about in _queries(results, done).items()
        }
        if any(types.values()):
            shown(slices(results.per_query, by=types, k=int(done["k"].max())))
    for line in (*results.notes, *troubles(grid)):
        print(line, file=sys.stderr)
    if results.left_out:
        print(
            f"left out, of another state of a collection: {results.left_out} jobs (their folders stay)",
            file=sys.stderr,
        )
    print(f"{results.folder}/grid.parquet")
    return 1 if results.missing or (grid["status"] == "failed").any() else 0


def _queries(results: Results, cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return results.queries(str(cells["collection"].iloc[0]))
