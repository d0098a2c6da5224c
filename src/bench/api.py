"""The program as Python calls it: run jobs, load results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from hydra import main as hydra_main
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench.artifacts import CELL, JobFolder
from bench.config import conf_folder, explained
from bench.errors import BenchError
from bench.grid import GRID, PER_QUERY, read_table
from bench.job import job_of
from bench.kept import Kept
from bench.loading import Collections
from bench.overrides import understood
from bench.pipeline import run_job
from bench.sweep import Planned, outcome
from bench.tracking import track


@dataclass(frozen=True)
class Results:
    """A folder of finished jobs; `asked` are the cells of the command that made it, None for all.

    A cell is asked for by system id, collection, seed, k and token budget, of which it has one.
    """

    folder: Path
    asked: frozenset[tuple[str, str, int, int | None, int | None]] | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()
    plan: str | None = None
    """What a dry run would have done, None where it was none."""
    planned: tuple[Planned, ...] = ()
    """The jobs of the command that made it, each with the folder in which it stands."""
    form: str = "table"
    """In which it is told: `table` or `json`."""

    @cached_property
    def grid(self) -> pd.DataFrame:
        """One row a cell with a k: the cells that were asked for."""
        return self._cells("grid", by="k")

    @cached_property
    def budgets(self) -> pd.DataFrame:
        """One row a cell with a token budget: the cells that were asked for. None is comparable with one of a k."""
        return self._cells("grid", by="budget")

    @property
    def missing(self) -> int:
        """How many of the cells that were asked for the grid lacks."""
        return (
            0 if self.asked is None else len(self.asked - set(_named(self.grid)) - set(_named(self.budgets)))
        )

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """One row a query of a cell with a k."""
        return self._cells("per_query", by="k")

    @cached_property
    def budgets_per_query(self) -> pd.DataFrame:
        """One row a query of a cell with a token budget."""
        return self._cells("per_query", by="budget")

    @cached_property
    def kept(self) -> dict[str, Kept]:
        """What the folder has kept of every collection with a finished cell: its judgements and its runs."""
        done = self.grid[self.grid["status"] == "ok"]
        every = {str(name): Kept.of(self.folder, cells) for name, cells in done.groupby("collection")}
        return {name: kept for name, kept in every.items() if kept.jobs}

    def queries(self, collection: str) -> dict[str, dict[str, Any]]:
        """The queries of a collection as they were when its jobs ran, by id."""
        for manifest in sorted(self._manifests(), key=lambda one: one["written"], reverse=True):
            path = self.folder / "collections" / str(manifest.get("state")) / "queries.jsonl"
            if manifest["collection"] == collection and path.exists():
                return {
                    one["_id"]: one for one in map(json.loads, filter(None, path.read_text().split("\n")))
                }
        return {}

    def _manifests(self) -> list[dict[str, Any]]:
        every = (JobFolder(path).manifest for path in self.folder.iterdir() if path.is_dir())
        return [manifest for manifest in every if manifest]

    def _cells(self, file: str, *, by: str) -> pd.DataFrame:
        table = read_table(self.folder / f"{file}.parquet", GRID if file == "grid" else PER_QUERY)
        frame: pd.DataFrame = table.filter(pc.is_valid(table[by])).to_pandas()
        if self.asked is None:
            return frame
        return frame[np.array([cell in self.asked for cell in _named(frame)], bool)].reset_index(drop=True)


def _named(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """What tells the cells of a frame apart, null as None."""
    columns = (frame[name].astype(object).where(frame[name].notna(), None) for name in CELL)
    return list(zip(*columns, strict=True))


def load(folder: str | Path) -> Results:
    """The results of a folder; BenchError where it holds none."""
    path = Path(folder)
    if not (path / "grid.parquet").is_file():
        raise BenchError(f"{path} holds no finished job (there is no grid.parquet in it)")
    return Results(path)


def run(*overrides: str) -> Results:
    """Run the jobs that these overrides ask for and return their results.

    Raises BenchError where the request is wrong, and then nothing has been written.
    """
    with _as_command(understood(overrides, conf_folder())):
        outcome.set(None)
        try:
            hydra_main(config_path=str(conf_folder()), config_name="config", version_base="1.3")(task)()
        except (HydraException, OmegaConfBaseException) as error:
            raise explained(error, overrides) from error
    sweep = outcome.get()
    if sweep is None:
        raise BenchError("Hydra was asked for something else than a run")
    jobs = [one.job for one in sweep.planned]
    asked = frozenset(
        (job.system_id, job.collection.name, job.seed, k, budget)
        for job in jobs
        for k, budget in (*((k, None) for k in job.ks), *((None, budget) for budget in job.budgets))
    )
    found = Results(
        sweep.folder, asked, sweep.left_out, sweep.notes, sweep.dry, tuple(sweep.planned), form=sweep.form
    )
    if sweep.dry is not None:
        return found
    cells = pd.concat([found.grid, found.budgets]) if len(found.budgets) else found.grid
    return replace(found, notes=(*found.notes, *track(cells, sweep.tracker, folder=sweep.folder)))


def task(cfg: DictConfig) -> None:
    """One job, in whatever process a launcher runs it."""
    cfg = cfg.copy()
    OmegaConf.set_struct(cfg, False)
    cfg.hydra = HydraConfig.get()
    run_job(job_of(cfg, load=Collections()))


def _is_override(word: str) -> bool:
    return not word.startswith("-") and ("=" in word or word.startswith("~"))


@contextmanager
def _as_command(overrides: Sequence[str]) -> Iterator[None]:
    """Hydra reads the command line and swallows exceptions unless told otherwise: tell it."""
    argv, full = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    # Hydra's parser wants its switches, with their values, before the first override.
    sys.argv = ["bench", *sorted(overrides, key=_is_override)]
    os.environ["HYDRA_FULL_ERROR"] = "1"
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        sys.argv = argv
        if full is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = full
