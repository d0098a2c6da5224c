"""Stored runs scored again on other judgements: nothing is searched and nothing is timed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import timing
from bench.api import Results
from bench.artifacts import JobFolder, as_old, keep_collection, kept_collection, state_digest, write_table
from bench.cells import DECIDED, Cells
from bench.collection import Collection
from bench.errors import BenchError, listing
from bench.grid import MetricGrid
from bench.merge import finished, merge
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.reopen import choice, rejudged, reopened
from bench.scores.fitting import refuse_above


@dataclass(frozen=True, eq=False)
class Stored:
    """A finished job, and its collection with the judgements that it is to be scored on."""

    job: JobFolder
    manifest: Mapping[str, Any]
    collection: Collection

    @property
    def changed(self) -> tuple[str, ...]:
        """What is no longer as it was when the job ran: `corpus`, `queries`."""
        ran, now = self.manifest["digests"], self.collection.digests
        return tuple(what for what in ("corpus", "queries") if ran[what] != now[what])


@dataclass(frozen=True, eq=False)
class Scored:
    """What is to be written of a job that has been scored again, and the documents that its run names."""

    stored: Stored
    grid: pa.Table
    per_query: pa.Table
    docs: frozenset[str]


def rescore(folder: Path, *, qrels: Qrels | None = None, max_grade: float | None = None) -> Results:
    """Score every finished job of a folder again and rebuild its tables; timings and costs stay.

    On `qrels` where they are given, else on the judgements that the collection has now. `max_grade` is the top
    of the scale of grades, by default what the collection declares. BenchError, and nothing written, where a
    collection cannot be opened again, or where none of its jobs ran on the corpus and the queries at hand.
    """
    jobs = finished(folder)
    names = sorted({str(manifest["collection"]) for _, manifest in jobs})
    if qrels is not None and len(names) > 1:
        raise BenchError(
            f"{folder} holds runs of {len(names)} collections ({listing(names)}), which one file cannot judge; "
            "without --qrels each is scored on the judgements that its collection has now"
        )
    collection_of = _opener(folder, qrels, max_grade)
    every = [Stored(job, manifest, collection_of(manifest)) for job, manifest in jobs]
    _refuse_changed(folder, every)
    scored = [_scored(one) for one in every if not one.changed]
    for one in scored:
        _write(one)
    state: dict[str, dict[str, str]] = {}
    for collection in {id(one.stored.collection): one.stored.collection for one in scored}.values():
        named = [one.docs for one in scored if one.stored.collection is collection]
        keep_collection(folder, collection, frozenset[str]().union(*named))
        state[collection.name] = collection.digests
    _judge_failures(folder, state)
    merged = merge(folder, state=state)
    told = (f"{one.stored.collection.name}: {note}" for one in scored for note in one.stored.collection.notes)
    return Results(folder, None, merged.left_out, tuple(dict.fromkeys([*told, *merged.damaged])))


def _opener(
    folder: Path, qrels: Qrels | None, max_grade: float | None
) -> Callable[[Mapping[str, Any]], Collection]:
    """What opens the collection of a job as it is to be scored, once for all jobs that share it."""
    opened: dict[tuple[str, ...], Collection] = {}

    def open_again(manifest: Mapping[str, Any]) -> Collection:
        key = (str(manifest["state"]), *choice(manifest))
        if key not in opened:
            opened[key] = _opened(folder, manifest, qrels)
            if max_grade is not None:
                opened[key] = dataclasses.replace(opened[key], max_grade=max_grade)
            refuse_above(opened[key].qrels, opened[key].max_grade)
        return opened[key]

    return open_again


def _opened(folder: Path, manifest: Mapping[str, Any], qrels: Qrels | None) -> Collection:
    """The collection from where it came; where that is gone and judgements are at hand, what was kept of it."""
    moved: tuple[str, ...] = ()
    try:
        collection = reopened(manifest)
    except BenchError as error:
        if qrels is None:
            raise BenchError(
                f"{folder} is scored on the judgements of {manifest['collection']}, which cannot be opened again "
                f"({error}); give judgements by --qrels FILE"
            ) from error
        collection = kept_collection(folder, manifest)
        moved = (f"not where it was ({error}); scored with the queries and documents kept in {folder}",)
    if qrels is None:
        return collection
    judged = rejudged(collection, qrels)
    return dataclasses.replace(judged, notes=(*moved, *judged.notes))


def _refuse_changed(folder: Path, every: Sequence[Stored]) -> None:
    """BenchError where a collection has changed under all of its runs."""
    problems = []
    for name in dict.fromkeys(one.collection.name for one in every):
        runs = [one for one in every if one.collection.name == name]
        if all(one.changed for one in runs):
            what = " and ".join(dict.fromkeys(part for one in runs for part in one.changed))
            problems.append(f"the {what} of {name} changed after its {len(runs)} runs were made")
    if problems:
        raise BenchError(
            f"{folder} cannot be scored again: {'; '.join(problems)}. Other judgements alone need no search; "
            "for other documents or questions run the sweep again"
        )


def _scored(stored: Stored) -> Scored:
    manifest, collection = stored.manifest, stored.collection
    try:
        run = stored.job.run(collection)
        rows = MetricGrid.read(stored.job.path / "grid.parquet").rows()
    except (pa.ArrowException, OSError) as error:
        raise BenchError(
            f"{stored.job.path} cannot be read ({str(error).splitlines()[0]}); delete it and run its command again"
        ) from error
    cells = Cells.of(
        run,
        collection,
        ks=manifest["ks"],
        budgets=manifest["budgets"],
        measures=[MEASURES[name] for name in manifest["measures"] if name in MEASURES],
    )
    now = {"qrels_digest": collection.qrels_digest, "bench_version": version("bench")}
    judged = {(cell["k"], cell["budget"]): {**cell, **now} for cell in cells.rows(collection.query_ids)}
    again = [
        {name: value for name, value in row.items() if name not in DECIDED} | judged[row["k"], row["budget"]]
        for row in rows
    ]
    docs = frozenset(run.docs.take(np.unique(run.rows[run.rows >= 0])).to_pylist())
    return Scored(stored, MetricGrid.of(again).table, cells.per_query(rows[0]), docs)


def _write(one: Scored) -> None:
    job, collection = one.stored.job, one.stored.collection
    manifest = {
        **one.stored.manifest,
        "digests": collection.digests,
        "state": state_digest(collection),
        "max_grade": collection.max_grade,
        "notes": list(collection.notes),
        "written": timing.now(),
    }
    files = {"grid.parquet": write_table(one.grid), "per_query.parquet": write_table(one.per_query)}
    with job.locked():
        job.amend(files, manifest=manifest)


def _judge_failures(folder: Path, state: Mapping[str, Mapping[str, str]]) -> None:
    """A cell that failed has failed on the judgements of now too, else it would leave the tables."""
    for path in folder.glob("*/failure.json"):
        record = JobFolder(path.parent).failure
        if record is None:
            continue
        rows = [{**row, **_judged(row, state)} for row in record["rows"]]
        if rows != record["rows"]:
            with as_old(path):
                JobFolder(path.parent).fail({**record, "rows": rows})


def _judged(row: Mapping[str, Any], state: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    now = state.get(row["collection"])
    same = now is not None and all(row[f"{what}_digest"] == now[what] for what in ("corpus", "queries"))
    return {"qrels_digest": now["qrels"]} if now is not None and same else {}
