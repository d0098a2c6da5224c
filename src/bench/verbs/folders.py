"""A folder of results opened to be read: its systems, what each has on each query, and their rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.artifacts import JobFolder, kept_collection
from bench.collection import Collection
from bench.errors import BenchError, did_you_mean, listing
from bench.grid import GRID, PER_QUERY, read_table
from bench.identity import digest
from bench.ids import Ids
from bench.merge import finished
from bench.runs import Run
from bench.statistics.panel import Panel

Row = Mapping[str, Any]
PLACES = ["query_id", "doc_id", "score"]
"""The columns of a run that a ranking is made of."""


@dataclass(frozen=True, eq=False)
class Opened:
    """What one folder holds of one collection, under one seed."""

    folder: Path
    collection: Collection
    """Its queries, its judgements, and those of its documents that a run or a judgement names."""
    documents: int
    """How many the corpus has."""
    panel: Panel
    cells: Mapping[tuple[str, int], Row]
    """The finished rows of the grid by system and k."""
    jobs: Mapping[str, JobFolder]
    """By system."""
    identities: Mapping[str, str]
    """Of the systems: see `bench.job.System.identity`."""
    digests: Mapping[str, str]
    """Of corpus, queries and judgements."""
    failed: Mapping[str, str]
    """Why a system has a cell that failed or was skipped."""
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of the collection."""
        return self.collection.name

    @property
    def ks(self) -> tuple[int, ...]:
        """Every k of a cell, rising."""
        return tuple(sorted({k for _, k in self.cells}))

    def refuse_unknown(self, system: str) -> None:
        """BenchError where there is no finished system of this label; it names the nearest, or why it failed."""
        if system not in self.panel.systems:
            known = did_you_mean(system, self.panel.systems)
            why = f" ({self.failed[system]})" if system in self.failed else known
            raise BenchError(f"{self.folder} has no system '{system}' on {self.name}{why}")

    def runs(self, docs: Ids | None = None) -> dict[str, Run]:
        """The stored ranking of every system over all queries, over this vocabulary or that of the collection."""
        vocabulary = self.collection.doc_ids if docs is None else docs
        return {system: _run(job, self.collection, vocabulary, PLACES) for system, job in self.jobs.items()}

    def staged_runs(self) -> dict[str, Run]:
        """The same over the collection's vocabulary, with where each stage had put a document."""
        docs = self.collection.doc_ids
        return {system: _run(job, self.collection, docs, None) for system, job in self.jobs.items()}

    def without_reranker(self) -> list[tuple[str, str]]:
        """The pairs of systems that differ by a reranker alone: without it, with it."""
        bare = {
            self.identities[system]: system
            for (system, _), row in self.cells.items()
            if row["reranker"] == "none"
        }
        found = []
        for identity, system in bare.items():
            retriever, depth = identity[: identity.rindex(" > ") + 3], identity[identity.rindex(" @ ") :]
            found += [
                (system, other)
                for other, one in self.identities.items()
                if one not in bare and one.startswith(retriever) and one.endswith(depth)
            ]
        return found


def opened(folder: Path, *, collection: str | None = None, seed: int | None = None) -> tuple[Opened, ...]:
    """Every collection of a folder, or the one that is named, under this seed or else the lowest.

    Nothing is loaded that searches or embeds. BenchError where the folder holds no finished job, or no such
    collection or seed.
    """
    jobs = finished(folder)
    path = folder / "grid.parquet"
    if not path.is_file():
        raise BenchError(
            f"{path} is missing: run the command that made {folder} again, it will only write its tables"
        )
    rows = [row for row in read_table(path, GRID).to_pylist() if row["k"] is not None]
    names = list(dict.fromkeys(row["collection"] for row in rows if row["status"] == "ok"))
    if not names:
        raise BenchError(f"{folder} holds no finished cell with a k: {'; '.join(_reasons(rows).values())}")
    if collection is not None and collection not in names:
        raise BenchError(
            f"{folder} holds nothing of a collection '{collection}'{did_you_mean(collection, names)}"
        )
    values = read_table(folder / "per_query.parquet", PER_QUERY)
    return tuple(
        _opened(folder, [row for row in rows if row["collection"] == name], values, jobs, seed=seed)
        for name in ([collection] if collection else names)
    )


def matched(before: Sequence[Opened], after: Sequence[Opened]) -> list[tuple[Opened, Opened]]:
    """The collections of two folders by name; BenchError where there is none, or where queries or judgements differ."""
    others = {one.name: one for one in after}
    pairs = [(one, others[one.name]) for one in before if one.name in others]
    if not pairs:
        first, second = (
            f"{every[0].folder} holds {listing(one.name for one in every)}" for every in (before, after)
        )
        raise BenchError(f"the folders have no collection in common: {first}; {second}")
    if problems := [problem for pair in pairs for problem in _differences(*pair)]:
        raise BenchError("\n".join(problems))
    return pairs


def _differences(before: Opened, after: Opened) -> Iterator[str]:
    """What makes the figures of one collection incomparable between two folders."""
    where = f"in {before.folder} than in {after.folder}"
    if before.digests["queries"] != after.digests["queries"]:
        yield f"the queries of {before.name} are others {where}; run the command of the older one again"
    if before.digests["qrels"] != after.digests["qrels"]:
        yield (
            f"the judgements of {before.name}, or which of its queries share a need, are others {where}; "
            "python -m bench evaluate FOLDER scores stored runs on those of now"
        )


def _opened(
    folder: Path,
    rows: Sequence[Row],
    values: pa.Table,
    jobs: Sequence[tuple[JobFolder, Row]],
    *,
    seed: int | None,
) -> Opened:
    name = rows[0]["collection"]
    seeds = sorted({row["seed"] for row in rows if row["status"] == "ok"})
    chosen = seeds[0] if seed is None else seed
    if chosen not in seeds:
        raise BenchError(
            f"{folder} holds nothing of {name} with seed {seed}; it has {listing(map(str, seeds))}"
        )
    of_seed = [row for row in rows if row["seed"] == chosen]
    done = [row for row in of_seed if row["status"] == "ok"]
    labels = _labels(done)
    state = {what: done[0][f"{what}_digest"] for what in ("corpus", "queries", "qrels")}
    named = {
        labels[manifest["system_id"]]: (job, manifest)
        for job, manifest in jobs
        if manifest["collection"] == name
        and manifest["digests"] == state
        and manifest["system_id"] in labels
        and manifest["id"] == _job_id(manifest, chosen)
    }
    if missing := [label for label in labels.values() if label not in named]:
        raise BenchError(f"{folder}: the jobs of {listing(missing)} are gone; run its command again")
    collection = kept_collection(folder, next(iter(named.values()))[1])
    failed = _reasons(of_seed)
    outdated = sum(one["collection"] == name and one["digests"] != state for _, one in jobs)
    here = pc.and_(pc.equal(values["collection"], name), pc.equal(values["seed"], chosen))
    return Opened(
        folder=folder,
        collection=collection,
        documents=max(manifest["documents"] for _, manifest in named.values()),
        panel=Panel.of(
            values.filter(here), {query.id: query.need for query in collection.queries}, systems=labels
        ),
        cells={(labels[row["system_id"]], row["k"]): row for row in done},
        jobs={label: named[label][0] for label in labels.values()},
        identities={label: named[label][1]["identity"] for label in labels.values()},
        digests=state,
        failed=failed,
        notes=tuple(_notes(name, seeds, chosen, failed=failed, outdated=outdated)),
    )


def _run(job: JobFolder, collection: Collection, docs: Ids, columns: Sequence[str] | None) -> Run:
    """The stored ranking of a job, from these columns or all."""
    path = job.path / "run.parquet"
    try:
        table = pq.read_table(path, columns=columns)
        return Run.from_table(table, queries=collection.query_ids, docs=docs)
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        raise BenchError(
            f"{path} cannot be read ({why}); delete its folder and run the command again"
        ) from error


def _labels(done: Sequence[Row]) -> dict[str, str]:
    """The label of every system id, with the beginning of the id where two systems are called alike."""
    label = {row["system_id"]: row["system"] for row in done}
    times = Counter(label.values())
    return {one: name if times[name] == 1 else f"{name} #{one[:6]}" for one, name in label.items()}


def _job_id(manifest: Row, seed: int) -> str:
    """What the job would be called with this seed: see `bench.job.Job.id`."""
    digests = manifest["digests"]
    state = (manifest["collection"], digests["corpus"], digests["queries"])
    return digest(manifest["identity"], *state, str(seed), length=12)


def _reasons(rows: Sequence[Row]) -> dict[str, str]:
    """By system: `failed: reason`."""
    return {row["system"]: f"{row['status']}: {row['reason']}" for row in rows if row["status"] != "ok"}


def _notes(
    name: str, seeds: Sequence[int], chosen: int, *, failed: Mapping[str, str], outdated: int
) -> Iterator[str]:
    if len(seeds) > 1:
        yield f"{name}: seed {chosen} of {listing(map(str, seeds))} (another by --seed)"
    for system, reason in failed.items():
        yield f"{name}: {system} {reason}"
    if outdated:
        yield f"{name}: left out, of another state of the collection: {outdated} jobs"
