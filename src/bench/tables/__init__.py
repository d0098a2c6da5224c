"""What a command prints: the table of its grid, the slices of one system, and what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from bench.metrics import MEASURES
from bench.references import Reference, references
from bench.statistics.advice import deciding_measure
from bench.tables.cells import as_json
from bench.tables.collections import between_collections
from bench.tables.grid import LENSES, comparison
from bench.tables.picture import pictures
from bench.tables.runs import Kept, abstains, abstentions


class Results(Protocol):
    """What a command found: see `bench.api.Results`."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    @property
    def grid(self) -> pd.DataFrame:
        """One row a cell with a k."""

    @property
    def budgets(self) -> pd.DataFrame:
        """One row a cell with a token budget."""

    @property
    def kept(self) -> Mapping[str, Kept]:
        """What the folder has kept of every collection."""

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

    @property
    def form(self) -> str:
        """In which it is told: `table` or `json`."""

    def queries(self, collection: str) -> dict[str, dict[str, Any]]:
        """The queries of a collection by id."""


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
    """Print what a command found, as tables or as JSON; 1 if a cell failed, else 0."""
    if results.form == "json":
        print(_json(results), end="")
    elif results.plan is not None:
        print(results.plan)
    else:
        _show(results)
    if results.plan is not None:
        return 0
    for line in _aside(results):
        print(line, file=sys.stderr)
    if results.form != "json":
        print(f"{results.folder}/grid.parquet")
    return 1 if results.missing or (results.grid["status"] == "failed").any() else 0


def _show(results: Results) -> None:
    grid = results.grid
    done = grid[grid["status"] == "ok"]
    if len(done):
        shown(comparison(grid, budgets=results.budgets, references=_references(results)))
    for picture in pictures(grid, measures=_deciding(results)):
        shown(picture)
    for table in between_collections(done):
        shown(table)
    if len(done) and all(grid[name].nunique() == 1 for name in ("system_id", "collection", "seed")):
        types = {
            query: str(about["metadata"].get("type", "")) for query, about in _queries(results, done).items()
        }
        if any(types.values()):
            shown(slices(results.per_query, by=types, k=int(done["k"].max())))
        for kept in results.kept.values():
            if abstains(kept.collection):
                shown(abstentions(kept))


def _json(results: Results) -> str:
    if results.plan is not None:
        return as_json([], folder=results.folder.as_posix(), plan=results.plan.split("\n"))
    return as_json(
        [results.grid, results.budgets], folder=results.folder.as_posix(), notes=list(_aside(results))
    )


def _aside(results: Results) -> Iterator[str]:
    """What is told beside the result."""
    yield from (*results.notes, *troubles(results.grid))
    if results.left_out:
        yield f"left out, of another state of a collection: {results.left_out} jobs (their folders stay)"


def _deciding(results: Results) -> dict[str, str]:
    """The measure that k is chosen by in each collection: see `bench.statistics.advice`."""
    return {name: deciding_measure(kept.collection.qrels).name for name, kept in results.kept.items()}


def _queries(results: Results, cells: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return results.queries(str(cells["collection"].iloc[0]))


def _references(results: Results) -> dict[str, dict[str, Reference]]:
    """The reference systems of every collection, at every k of its cells."""
    found = {}
    for name, kept in results.kept.items():
        needs = {query.id: query.need for query in kept.collection.queries}
        ks = results.grid.loc[results.grid["collection"] == name, "k"].unique().tolist()
        docs = kept.collection.doc_ids
        found[name] = references(kept.collection.qrels, needs, documents=kept.documents, ks=ks, docs=docs)
    return found
