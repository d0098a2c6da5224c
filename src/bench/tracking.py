"""The numbers of a sweep told to a tracker as well, MLflow or Weights & Biases: a run a system, with k as its step.

The same system on the same state of a collection is the same run, so a command given twice makes no second one.
A tracker gets every number of the grid. At the step k a run has `ndcg`, which draws quality against k; the measures
and the costs also stand under names of their own, `ndcg_at_5` and `ndcg_within_500_tokens`, to sort and filter by.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.error import HTTPError
from urllib.request import urlopen

import pandas as pd
import pyarrow as pa

from bench.errors import BenchError, Unavailable, check_one_of, missing_library
from bench.grid import GRID, MEASURE_COLUMNS
from bench.identity import digest
from bench.patience import CHECK_SECONDS

OPTIONS = ("retriever", "store", "embedder", "analyzer", "reranker", "depth", "seed")
TAGS = (
    "system", "system_id", "collection", "corpus_digest", "queries_digest", "qrels_digest", "bench_version",
)  # fmt: skip
NO_NUMBERS = {*OPTIONS, "k", "budget", "schema_version"}
NUMBERS = tuple(c.name for c in GRID if c.type in (pa.int64(), pa.float64()) and c.name not in NO_NUMBERS)
"""What is told of a cell at its k."""
NAMED = (*MEASURE_COLUMNS, "latency_p50_ms", "context_tokens")
"""What also has a name with the k in it."""


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """A system on one collection, as a run of a tracker."""

    id: str
    """Names the system, the state of the collection and the sweep."""
    name: str
    tags: Mapping[str, str]
    parameters: Mapping[str, Any]
    at: Mapping[int, Mapping[str, float]]
    """By k, each number by its column."""
    named: Mapping[str, float]
    """Numbers by names that say the k or the budget."""
    reasons: tuple[str, ...]
    """Why cells of it failed or were skipped."""


class Tracker(Protocol):
    """Where runs are told."""

    def check(self) -> None:
        """Unavailable where it cannot be had, before any work is done."""

    def track(self, runs: Sequence[Tracked], *, folder: Path) -> str | None:
        """Tell these runs of the sweep in `folder`; where they went, in words, None where nobody was told."""


@dataclass(frozen=True, kw_only=True)
class Nowhere:
    """Tells nobody."""

    def check(self) -> None:
        """It can always be had."""

    def track(self, runs: Sequence[Tracked], *, folder: Path) -> str | None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class Mlflow:
    """An MLflow server or database; without a `uri` the one that MLflow itself would take."""

    uri: str | None = None
    experiment: str | None = None

    def check(self) -> None:
        """Unavailable where the library is not installed, or where no server answers at the address."""
        _refuse_missing("mlflow", extra="mlflow")
        uri = self.uri or os.environ.get("MLFLOW_TRACKING_URI", "")
        if uri.startswith(("http://", "https://")):
            _refuse_silent(uri)

    def track(self, runs: Sequence[Tracked], *, folder: Path) -> str:
        """A run each in the experiment, which is made where it is missing; one of the same id is brought up to date."""
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=self.uri)
        name = self.experiment or folder.name
        known = client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else client.create_experiment(name)
        for run in runs:
            _tell_mlflow(client, experiment, run)
        return f"MLflow: experiment '{name}', {_runs(len(runs))} ({_plain(client.tracking_uri)})"


@dataclass(frozen=True, kw_only=True)
class WeightsAndBiases:
    """A project of Weights & Biases; offline nothing is sent, and `wandb sync` brings it there later."""

    project: str = "bench"
    entity: str | None = None
    mode: Literal["offline", "online"] = "offline"

    def __post_init__(self) -> None:
        check_one_of("tracking.mode", self.mode, ("offline", "online"))

    def check(self) -> None:
        """Unavailable where the library is not installed."""
        _refuse_missing("wandb", extra="wandb")

    def track(self, runs: Sequence[Tracked], *, folder: Path) -> str:
        """A run each in the group of the sweep's name."""
        if self.mode == "offline":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # it would go over the network
        import wandb

        quiet = wandb.Settings(silent=True, console="off", save_code=False, disable_git=True)
        for run in runs:
            with wandb.init(
                project=self.project, entity=self.entity, mode=self.mode, dir=str(folder), group=folder.name,
                id=run.id, name=run.name, resume="allow", reinit="create_new", settings=quiet,
                config={**run.parameters, **run.tags},
            ) as told:  # fmt: skip
                told.define_metric("*", step_metric="k")
                for k, numbers in run.at.items():
                    told.log({"k": k, **numbers})
                told.summary.update({**run.named, "reasons": list(run.reasons)})
        where = f"{folder / 'wandb'}, for `wandb sync`" if self.mode == "offline" else "sent"
        return f"Weights & Biases: project '{self.project}', {_runs(len(runs))} ({where})"


def track(cells: pd.DataFrame, tracker: Tracker, *, folder: Path) -> list[str]:
    """Tell the rows of a grid; one line about where they went or why they did not: no sweep is lost by it."""
    try:
        where = tracker.track(tracked(cells, folder=folder), folder=folder)
    except Exception as error:  # whatever the tracker's library raises
        first = (str(error).splitlines() or [""])[0]
        return [
            f"not tracked: {type(error).__name__}: {first} (the same command tries again, and runs nothing)"
        ]
    return [f"tracked: {where}"] if where else []


def tracked(cells: pd.DataFrame, *, folder: Path) -> list[Tracked]:
    """The rows of a grid as runs: one a system, collection and seed, in the order of the grid."""
    keys = ["system_id", "collection", "seed"]
    return [
        _run(rows.to_dict("records"), folder) for _, rows in cells.groupby(keys, sort=False, dropna=False)
    ]


def _run(rows: Sequence[Mapping[Any, Any]], folder: Path) -> Tracked:
    first = rows[0]
    done = [row for row in rows if row["status"] == "ok"]
    at = {int(row["k"]): _numbers(row, NUMBERS) for row in done if pd.notna(row["k"])}
    named = {f"{name}_{_cut(row)}": value for row in done for name, value in _numbers(row, NAMED).items()}
    tags = {f"bench.{name}": str(first[name]) for name in TAGS if pd.notna(first[name])}
    settings = json.loads(first["parameters"]) if isinstance(first["parameters"], str) else {}
    return Tracked(
        id=digest(folder.name, *(str(first[name]) for name in (*TAGS[:-1], "seed")), length=16),
        name=f"{first['system']} on {first['collection']}",
        tags={**tags, "bench.folder": folder.as_posix()},
        parameters={**{name: first[name] for name in OPTIONS if pd.notna(first[name])}, **settings},
        at=at,
        named=named,
        reasons=tuple(dict.fromkeys(str(row["reason"]) for row in rows if row["status"] != "ok")),
    )


def _numbers(row: Mapping[Any, Any], names: Sequence[str]) -> dict[str, float]:
    return {name: float(row[name]) for name in names if pd.notna(row[name])}


def _cut(row: Mapping[Any, Any]) -> str:
    return f"at_{int(row['k'])}" if pd.notna(row["k"]) else f"within_{int(row['budget'])}_tokens"


def _tell_mlflow(client: Any, experiment: str, run: Tracked) -> None:
    from mlflow.entities import Metric, Param, RunTag

    same = client.search_runs([experiment], filter_string=f"tags.`bench.id` = '{run.id}'", max_results=1)
    made = same[0] if same else client.create_run(experiment, run_name=run.name, tags={"bench.id": run.id})
    # A parameter is told once: MLflow takes no other value for it.
    parameters = [Param(key, value) for key, value in _flat(run.parameters) if key not in made.data.params]
    moment = made.info.start_time
    numbers = [
        *(Metric(key, value, moment, k) for k, values in run.at.items() for key, value in values.items()),
        *(Metric(key, value, moment, 0) for key, value in run.named.items()),
    ]
    tags = {**run.tags, **({"bench.reasons": "; ".join(run.reasons)} if run.reasons else {})}
    client.log_batch(made.info.run_id, params=parameters[:100], tags=[RunTag(*tag) for tag in tags.items()])
    for start in range(0, len(numbers), 1000):  # as many as MLflow takes at once
        client.log_batch(made.info.run_id, metrics=numbers[start : start + 1000])
    client.set_terminated(made.info.run_id, status="FINISHED" if run.at or run.named else "FAILED")


def _flat(parameters: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted names as MLflow takes them, and each value as text of the length that it takes."""
    for key, value in parameters.items():
        name = f"{path}{re.sub(r'[^A-Za-z0-9_./: -]', '_', str(key))}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, str(value)[:500]


def _refuse_missing(library: str, *, extra: str) -> None:
    if importlib.util.find_spec(library) is None:
        raise missing_library(library, extra=extra)


def _refuse_silent(uri: str) -> None:
    """Any answer will do: who may write is told by the tracker itself."""
    try:
        urlopen(_plain(uri), timeout=CHECK_SECONDS).close()
    except HTTPError:
        pass
    except (OSError, ValueError, HTTPException) as error:
        raise Unavailable(f"tracking.uri={_plain(uri)}: no MLflow server answers there ({error})") from error


def _plain(uri: str) -> str:
    """An address without the name and password that may stand in it."""
    return re.sub(r"//[^/@]*@", "//", uri)


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def refuse_several(trackers: Sequence[Tracker]) -> Tracker:
    """The one tracker of a command; BenchError where there are two."""
    first, *others = dict.fromkeys(trackers)
    if others:
        raise BenchError("tracking: a command is tracked in one place; run one command for each")
    return first
