"""What is read across collections: what a stress costs, and how alike two of them order the systems."""

from __future__ import annotations

import pandas as pd


def stress_losses(grid: pd.DataFrame, *, measure: str = "ndcg") -> pd.DataFrame:
    """What each stress costs each system: a row a collection, system, k, seed and stress.

    `grid` has the columns of grid.parquet; a collection under a stress is called `<plain>~<stress>`. Columns:
    `plain` and `stressed` are the measure's means, `loss` is plain - stressed, `lost` the share of plain that
    this is (NaN where plain is 0). Cells are laid side by side where corpus and judgements are equal; those
    without their plain cell have no row.
    """
    same = ["system", "system_id", "k", "seed", "corpus_digest", "qrels_digest"]
    cells = grid.loc[grid["status"] == "ok", ["collection", *same, measure]]
    under = cells.rename(columns={measure: "stressed", "collection": "under"})
    # Not as columns: of no cell there would be none.
    parted = under["under"].str.rpartition("~", expand=False)
    under["collection"], under["stress"] = parted.str[0], parted.str[2]
    losses = under.merge(cells.rename(columns={measure: "plain"}), on=["collection", *same])
    losses["loss"] = losses["plain"] - losses["stressed"]
    losses["lost"] = losses["loss"] / losses["plain"].where(losses["plain"] > 0)
    told = ["collection", "system", "k", "seed", "stress", "plain", "stressed", "loss", "lost"]
    return losses[told].sort_values(told[:5], ignore_index=True)


def agreement(grid: pd.DataFrame, *, measure: str = "ndcg") -> pd.DataFrame:
    """Kendall's tau-b between the orders in which two collections put the systems that both have, at the largest k.

    A row and a column a collection; NaN where two share fewer than three systems. `grid` has the columns of
    grid.parquet.
    """
    done = grid[grid["status"] == "ok"]
    cells = done[done["k"] == done["k"].max()]
    values = cells.pivot_table(index="system", columns="collection", values=measure)
    taus: pd.DataFrame = values.corr(method="kendall", min_periods=3)
    return taus
