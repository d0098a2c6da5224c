"""Tables between collections: how alike they order the systems, and what each stress costs."""

from __future__ import annotations

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.across import agreement, stress_losses
from bench.metrics import MEASURES


def between_collections(grid: pd.DataFrame) -> list[Table]:
    """What can be said of several collections at once: a table of stresses, or of agreement, or none."""
    done = grid[grid["status"] == "ok"]
    if stressed := losses(done):
        return stressed
    several = done["collection"].nunique() > 1 and done["system"].nunique() > 2
    return [_agreement(done)] if several else []


def losses(grid: pd.DataFrame, *, measure: str = "ndcg") -> list[Table]:
    """What each stress costs each system at the largest k, beside the plain mean: a table a collection."""
    costs = stress_losses(grid[grid["k"] == grid["k"].max()], measure=measure)
    return [_losses(str(name), cells, measure=measure) for name, cells in costs.groupby("collection")]


def _losses(collection: str, costs: pd.DataFrame, *, measure: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(f"what a stress costs, {collection}")
    table.add_column(MEASURES[measure].at(int(costs["k"].max())), justify="right")
    for stress in costs["stress"].unique():
        table.add_column(str(stress), justify="right")
    for (system, _), cells in costs.groupby(["system", "seed"], sort=False):
        lost = dict(zip(cells["stress"], cells["loss"], strict=True))
        figures = (f"{-lost[stress]:+z.3f}" if stress in lost else "-" for stress in costs["stress"].unique())
        table.add_row(str(system), f"{cells['plain'].iloc[0]:.3f}", *figures)
    return table


def _agreement(grid: pd.DataFrame, *, measure: str = "ndcg") -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"tau by {MEASURES[measure].at(int(grid['k'].max()))}")
    taus = agreement(grid, measure=measure)
    for name in taus:
        table.add_column(str(name), justify="right")
    for name, row in taus.iterrows():
        table.add_row(str(name), *("-" if pd.isna(tau) else f"{tau:.2f}" for tau in row))
    return table
