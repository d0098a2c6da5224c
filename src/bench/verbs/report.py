"""What `report` is asked of a folder, found: the findings of each collection, and how the results were made."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.artifacts import JobFolder
from bench.errors import BenchError, did_you_mean, listing
from bench.grid import GRID, SCHEMA_VERSION, read_table
from bench.statistics.findings import Findings, Provenance, Report
from bench.statistics.per_query import Room
from bench.statistics.survey import Material, survey
from bench.verbs.folders import Opened, opened
from bench.verbs.report_request import Request
from bench.verbs.tested import Tested, tested


def reported(asked: Request) -> Report:
    """All that is told of a folder. BenchError where it holds nothing to tell, or what is asked for is not there.

    A collection of several in which nothing has a value of the measure is left out, and that is said.
    """
    folder = opened(asked.folder, collection=asked.collection, seed=asked.seed)
    grid = read_table(asked.folder / "grid.parquet", GRID).to_pylist()
    _refuse_unknown(asked, folder)
    room, findings, left_out = Room().shared(len(folder)), [], []
    for one in folder:
        if asked.measure.key not in one.panel.measures:
            left_out.append(BenchError(f"{one.name}: no query has a value of {asked.measure}"))
            continue
        try:
            here = tested(one.panel, asked.measure, collection=one.name, k=asked.k)
        except BenchError as error:
            left_out.append(BenchError(f"{one.name}: {error}"))
            continue
        findings.append(_findings(asked, one, here, grid, room))
    if not findings:
        raise left_out[0]
    why = [f"left out: {error}" for error in left_out]
    return Report(
        findings=tuple(findings), provenance=_provenance(asked.folder, folder, findings, why), lang=asked.lang
    )


def _findings(
    asked: Request, one: Opened, here: Tested, grid: Sequence[Mapping[str, Any]], room: Room
) -> Findings:
    label = {row["system_id"]: system for (system, _), row in one.cells.items()}
    seed = next(iter(one.cells.values()))["seed"]
    rows = [
        {**row, "system": label.get(row["system_id"], row["system"])}
        for row in grid
        if row["collection"] == one.name and row["seed"] == seed
    ]
    material = Material(
        panel=one.panel,
        rows=rows,
        runs=one.staged_runs(),
        collection=one.collection,
        documents=one.documents,
        reranked=one.without_reranker(),
        failed=one.failed,
        notes=(*one.notes, *here.notes),
    )
    baseline = _baseline(asked, one, here)
    return survey(material, asked.measure, k=here.k, baseline=baseline, room=room, alpha=asked.alpha)


def _refuse_unknown(asked: Request, folder: Sequence[Opened]) -> None:
    """BenchError where a system that is named is in no collection, with all such names at once."""
    known = list(dict.fromkeys(system for one in folder for system in one.panel.systems))
    named = dict.fromkeys([*filter(None, [asked.baseline]), *(asked.rows or ())])
    problems = [
        f"{asked.folder} has no system '{system}'{did_you_mean(system, known)}"
        for system in named
        if system not in known
    ]
    if problems:
        raise BenchError("\n".join(problems))


def _baseline(asked: Request, one: Opened, here: Tested) -> str:
    """The one that is named where the collection has it, else the first without a reranker, else the first."""
    systems = here.panel.systems
    if asked.baseline in systems:
        return str(asked.baseline)
    bare = {system for (system, _), row in one.cells.items() if row["reranker"] == "none"}
    return next((system for system in systems if system in bare), systems[0])


def _provenance(
    folder: Path, every: Sequence[Opened], findings: Sequence[Findings], why: Sequence[str]
) -> Provenance:
    jobs = {
        f"{one.name} / {system}": (job, job.manifest or {})
        for one in every
        for system, job in one.jobs.items()
    }
    manifests = sorted((manifest for _, manifest in jobs.values()), key=lambda one: str(one["written"]))
    command = _command(folder)
    seeds = {row["seed"] for one in every for row in one.cells.values()}
    return Provenance(
        folder=str(folder),
        command=shlex.join(["python", "-m", "bench", *command["command"]]) if command else None,
        configs={name: _text(job.path / "job.yaml") for name, (job, _) in jobs.items()},
        versions=manifests[-1]["versions"],
        machine=manifests[-1]["machine"],
        digests={one.name: one.digests for one in every},
        started=manifests[0]["written"],
        finished=command["finished"] if command else manifests[-1]["written"],
        left_out=(*why, *_left_out(folder, findings)),
        schema_version=SCHEMA_VERSION,
        seeds=tuple(sorted(seeds)),
        notes=tuple(_notes(manifests)),
    )


def _left_out(folder: Path, findings: Sequence[Findings]) -> Iterator[str]:
    """What no mean holds, by collection, and the jobs that no table holds."""
    for one in findings:
        name, size = one.collection, one.size
        if unjudged := size.queries - size.judged_queries:
            yield f"{name}: {unjudged} of {size.queries} queries are not judged, and in no mean"
        if barren := max((cell.no_relevant for cell in one.cells), default=0):
            yield f"{name}: {barren} judged queries have no relevant document, and are in no mean but that of Judged"
        yield from (f"{name}: {system} {reason}" for system, reason in one.failed)
        yield from (note for note in one.notes if ": left out, " in note)
    older = sum(
        manifest.get("schema_version") != SCHEMA_VERSION
        for path in sorted(folder.glob("*/manifest.json"))
        if (manifest := JobFolder(path.parent).manifest)
    )
    if older:
        yield f"{older} jobs of another version of bench (run the command again with fresh=true)"


def _notes(manifests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What differs between the jobs of one folder, and what loading their collections found."""
    for what in ("versions", "machine"):
        states = {json.dumps(one[what], sort_keys=True): one[what] for one in manifests}
        differing = sorted(
            {
                name
                for one in states.values()
                for name in one
                if len({str(of.get(name)) for of in states.values()}) > 1
            }
        )
        if differing:
            yield f"the jobs differ in {listing(differing)}; what is told is that of the last"
    yield from dict.fromkeys(f"{one['collection']}: {note}" for one in manifests for note in one["notes"])


def _command(folder: Path) -> dict[str, Any] | None:
    """The last command that wrote the folder, None where it was not recorded or cannot be read."""
    try:
        found = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"command", "finished"} <= found.keys() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
