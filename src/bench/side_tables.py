"""Tables between collections: how alike they order the systems, and what each stress costs."""

from __future__ import annotations

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.losses import stress_losses
from bench.metrics import MEASURES


def between_collections(grid: pd.DataFrame) -> list[Table]:
    """What can be said of several collections at once: a table of stresses, or of agreement, or none."""
    done = grid[grid["status"] == "ok"]
    if stressed := losses(done):
        return stressed
    several = done["collection"].nunique() > 1 and done["system"].nunique() > 2
    return [agreement(done)] if several else []


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


def agreement(grid: pd.DataFrame, *, measure: str = "ndcg") -> Table:
    """Kendall's tau between the orders in which two collections put the systems that both have, at the largest k."""
    cells = grid[grid["k"] == grid["k"].max()]
    values = cells.pivot_table(index="system", columns="collection", values=measure)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"tau by {MEASURES[measure].at(int(cells['k'].max()))}")
    for name in values:
        table.add_column(str(name), justify="right")
    taus = values.corr(method="kendall", min_periods=3)
    for one in values:
        table.add_row(
            str(one), *("-" if pd.isna(taus.loc[one, two]) else f"{taus.loc[one, two]:.2f}" for two in values)
        )
    return table
