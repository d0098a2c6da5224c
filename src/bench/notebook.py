"""Results as a notebook shows them: what they hold in a few words, as a small table, and as plots."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bench import api
from bench.errors import BenchError, did_you_mean
from bench.metrics import MEASURES

if TYPE_CHECKING:
    from bench.report.plots import Plot
    from bench.statistics.findings import Findings

LENSES = ("precision", "recall", "mrr", "ndcg")
LOSSES = "losses"
ROWS = 40
"""A table shows no more."""


class Results(api.Results):
    """A folder of finished jobs, with its frames (`grid`, `per_query`) and its plots."""

    @cached_property
    def findings(self) -> dict[str, Findings]:
        """What the folder shows of every collection, as `python -m bench report` tells it."""
        from bench.verbs.report import reported
        from bench.verbs.report_request import Request

        return {one.collection: one for one in reported(Request(folder=self.folder)).findings}

    def plot(self, name: str = "quality", *, collection: str | None = None, **options: Any) -> Plot:
        """A plot of one collection: `quality` against k, `trade_off` against a cost, `slices`, or `losses`.

        `options` are those of the function of that name in `bench.report.plots`. BenchError for any other name, or
        where the folder does not hold what is drawn.
        """
        from bench.report import plots

        if name == LOSSES:
            return plots.losses(self._budgets_of_loss(), **options)
        if name not in plots.PLOTS:
            raise BenchError(f"there is no plot '{name}'{did_you_mean(name, [*plots.PLOTS, LOSSES])}")
        known = self.findings
        if collection is not None and collection not in known:
            raise BenchError(
                f"{self.folder} shows nothing of '{collection}'{did_you_mean(collection, known)}"
            )
        return plots.PLOTS[name](known[collection or next(iter(known))], **options)

    def __repr__(self) -> str:
        return "\n".join([f"{self.folder.as_posix()}:", *(f"  {line}" for line in self._lines)])

    def _repr_html_(self) -> str:
        done = self.grid[self.grid["status"] == "ok"]
        measures = [name for name in LENSES if done[name].notna().any()]
        table = done[["collection", "system", "k", *measures, "latency_p50_ms"]]
        named = table.rename(
            columns={name: str(MEASURES[name]) for name in measures} | {"latency_p50_ms": "ms"}
        )
        shown = named.head(ROWS).to_html(index=False, border=0, float_format="{:.3f}".format, na_rep="–")
        more = f"<p>… and {len(named) - ROWS} more in <code>.grid</code></p>" if len(named) > ROWS else ""
        said = "<br>".join(map(escape, self._lines))
        return f"<p><b>{escape(self.folder.as_posix())}</b><br>{said}</p>{shown}{more}"

    @property
    def _lines(self) -> list[str]:
        grid = self.grid
        lines = []
        for name, cells in grid[grid["status"] == "ok"].groupby("collection", sort=True):
            systems, ks = cells["system"].nunique(), ", ".join(map(str, sorted(cells["k"].unique())))
            counted = f"{systems} system{'s' if systems != 1 else ''}"
            lines.append(f"{name}: {counted}, k {ks}, {int(cells['queries'].max())} queries")
        if wrong := int((grid["status"] != "ok").sum()):
            lines.append(
                f"{wrong} cell{'s' if wrong != 1 else ''} failed or skipped: see status and reason in .grid"
            )
        return lines

    def _budgets_of_loss(self) -> pd.DataFrame:
        path = self.folder / "diagnosis.parquet"
        if not path.is_file():
            raise BenchError(f"{self.folder} holds no loss budgets (there is no diagnosis.parquet in it)")
        return pd.read_parquet(path)


def shown(results: api.Results) -> Results:
    """The same results for a notebook."""
    return Results(**{field.name: getattr(results, field.name) for field in dataclasses.fields(results)})


def load(folder: str | Path) -> Results:
    """The results of a folder; BenchError where it holds none."""
    return shown(api.load(folder))
