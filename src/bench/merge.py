"""The tables of a whole folder: a pure rebuild from its finished jobs, whoever ran them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.artifacts import JobFolder, write_beside, write_table
from bench.errors import BenchError, did_you_mean
from bench.grid import GRID, PER_QUERY, SCHEMA_VERSION, MetricGrid, concatenated, read_table
from bench.judging import judged


@dataclass(frozen=True)
class Merged:
    """The tables of a whole folder, and how many jobs they leave out because their collection has changed."""

    grid: MetricGrid
    left_out: int
    damaged: tuple[str, ...] = ()


def merge(folder: Path, *, state: Mapping[str, dict[str, str]]) -> Merged:
    """Rebuild grid.parquet and per_query.parquet of a folder from its jobs, under a lock.

    `state` gives, for the collections at hand, the digests of corpus, queries and qrels; jobs of an earlier
    state of one, or of another version of the columns, are left out and counted. Collections that are not at
    hand keep the state of most of their jobs.
    """
    with JobFolder(folder / "grid").locked():
        jobs, damaged = _readable(folder)
        current = {**_most_common(job.manifest for job in jobs if job.manifest), **state}
        kept = [job for job in jobs if job.manifest and _holds(job.manifest, current)]
        bounds = judged(folder, [(job.folder, job.manifest or {}) for job in kept])
        grid = concatenated([b.grid(job.grid) for b, job in zip(bounds, kept, strict=True)], GRID)
        done = {
            tuple(row.get(name) for name in NAMED_CELL): (row["system_id"], job.folder.stamp)
            for job in kept
            for row in job.grid.to_pylist()
        }
        failed = [
            row
            for job in jobs
            for row in (job.failure or {}).get("rows", ())
            if _of(row, current) and not _outlived(row, job.folder.stamp, done)
        ]
        whole = concatenated([grid, MetricGrid.of(failed).table] if failed else [grid], GRID)
        values = [b.per_query(job.per_query) for b, job in zip(bounds, kept, strict=True)]
        per_query = concatenated(values, PER_QUERY)
        troubles = dict.fromkeys(b.trouble for b in bounds if b.trouble)
        write_beside(folder / "grid.parquet", write_table(whole))
        write_beside(folder / "per_query.parquet", write_table(per_query))
        left_out = sum(1 for job in jobs if job.manifest) - len(kept)
        return Merged(MetricGrid(whole), left_out, (*damaged, *troubles))


def finished(folder: Path) -> list[tuple[JobFolder, dict[str, Any]]]:
    """The finished jobs of a folder and their manifests; BenchError where there is none."""
    if not folder.is_dir():
        beside = [path.name for path in folder.parent.glob("*/") if not _aside(path)]
        raise BenchError(f"there is no folder {folder}{did_you_mean(folder.name, beside)}")
    if (folder / "manifest.json").is_file():
        raise BenchError(f"{folder} is one job; name the folder of all of them: {folder.parent}")
    jobs = [JobFolder(path.parent) for path in sorted(folder.glob("*/manifest.json"))]
    found = [(job, manifest) for job in jobs if (manifest := job.manifest)]
    readable = [
        (job, manifest) for job, manifest in found if manifest.get("schema_version") == SCHEMA_VERSION
    ]
    if not readable:
        why = "only jobs of another version of bench" if found else "no finished job"
        raise BenchError(f"{folder} holds {why}")
    return readable


NAMED_CELL = ("system", "collection", "seed", "k", "budget")
"""What a person calls a cell: a system that could not be had has another id than when it can."""


def _outlived(row: Mapping[str, Any], stamp: int, done: Mapping[tuple[Any, ...], tuple[str, int]]) -> bool:
    """Whether the cell that failed has been done since, or stands finished from before under the same id."""
    system_id, finished = done.get(tuple(row.get(name) for name in NAMED_CELL), ("", 0))
    return system_id == row["system_id"] or finished > stamp


@dataclass(frozen=True)
class _Read:
    """What stands in the folder of a job."""

    folder: JobFolder
    manifest: dict[str, Any] | None
    failure: dict[str, Any] | None
    grid: pa.Table
    per_query: pa.Table


def _readable(folder: Path) -> tuple[list[_Read], tuple[str, ...]]:
    """The jobs of a folder that can be read, and what is wrong with the others."""
    jobs, damaged = [], []
    for path in sorted(path for path in folder.iterdir() if path.is_dir() and not _aside(path)):
        job = JobFolder(path)
        try:
            manifest = job.manifest
            whole = manifest is not None and manifest.get("schema_version") == SCHEMA_VERSION
            grid = read_table(path / "grid.parquet", GRID) if whole else concatenated([], GRID)
            queries = (
                read_table(path / "per_query.parquet", PER_QUERY) if whole else concatenated([], PER_QUERY)
            )
            jobs.append(_Read(job, manifest, job.failure, grid, queries))
        except BenchError as error:
            damaged.append(f"left out: {error}")
    return jobs, tuple(damaged)


def _aside(path: Path) -> bool:
    return path.name.startswith(".") or path.name == "collections"


def _most_common(manifests: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    states: dict[str, list[dict[str, str]]] = {}
    for manifest in manifests:
        states.setdefault(manifest["collection"], []).append(manifest["digests"])
    return {name: max(found, key=found.count) for name, found in states.items()}


def _holds(manifest: Mapping[str, Any], current: Mapping[str, dict[str, str]]) -> bool:
    same_columns = manifest.get("schema_version") == SCHEMA_VERSION
    return same_columns and bool(manifest["digests"] == current[manifest["collection"]])


def _of(row: Mapping[str, Any], current: Mapping[str, dict[str, str]]) -> bool:
    state = {what: row[f"{what}_digest"] for what in ("corpus", "queries", "qrels")}
    return current.get(row["collection"], state) == state
