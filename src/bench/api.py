"""The program as Python calls it: run jobs, load results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
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
from bench.loading import Collections
from bench.pipeline import run_job
from bench.sweep import outcome


@dataclass(frozen=True)
class Results:
    """A folder of finished jobs; `asked` are the cells of the command that made it, None for all.

    A cell is asked for by system id, collection, seed and k.
    """

    folder: Path
    asked: frozenset[tuple[str, str, int, int]] | None = None
    left_out: int = 0
    notes: tuple[str, ...] = ()
    plan: str | None = None
    """What a dry run would have done, None where it was none."""

    @cached_property
    def grid(self) -> pd.DataFrame:
        """One row a cell: the cells that were asked for."""
        return self._asked(read_table(self.folder / "grid.parquet", GRID).to_pandas())

    @property
    def missing(self) -> int:
        """How many of the cells that were asked for the grid lacks."""
        return (
            0
            if self.asked is None
            else len(self.asked - set(zip(*(self.grid[c] for c in CELL), strict=True)))
        )

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """One row a query of a cell."""
        return self._asked(read_table(self.folder / "per_query.parquet", PER_QUERY).to_pandas())

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

    def _asked(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self.asked is None:
            return frame
        cells = zip(*(frame[name] for name in CELL), strict=True)
        return frame[np.array([cell in self.asked for cell in cells], bool)].reset_index(drop=True)


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
    with _as_command(overrides):
        outcome.set(None)
        try:
            hydra_main(config_path=str(conf_folder()), config_name="config", version_base="1.3")(task)()
        except (HydraException, OmegaConfBaseException) as error:
            raise explained(error, overrides) from error
    sweep = outcome.get()
    if sweep is None:
        raise BenchError("Hydra was asked for something else than a run")
    jobs = [one.job for one in sweep.planned]
    asked = frozenset((job.system_id, job.collection.name, job.seed, k) for job in jobs for k in job.ks)
    return Results(sweep.folder, asked, sweep.left_out, sweep.notes, sweep.dry)


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
