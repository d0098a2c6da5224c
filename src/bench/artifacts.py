"""What stands under outputs/: written beside and renamed, the manifest last, rebuilt from finished jobs alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from bench.collection import Collection, Doc
from bench.errors import BenchError
from bench.grid import GRID, PER_QUERY, SCHEMA_VERSION, MetricGrid, concatenated, read_table
from bench.identity import digest
from bench.loading import parts_tsv, qrels_tsv
from bench.runs import Run

OUTPUTS = Path("outputs")
Writer = Callable[[Path], object]
"""Writes one file at the path it is given."""


@dataclass(frozen=True)
class JobFolder:
    """`outputs/<name>/<label>-<id>/`: one job. Without a manifest it is unfinished."""

    path: Path

    @property
    def manifest(self) -> dict[str, Any] | None:
        """What the job was and found, None while it is not finished or cannot be read."""
        return _json(self.path / "manifest.json")

    @property
    def failure(self) -> dict[str, Any] | None:
        """Why the job failed or was skipped, None where it did not."""
        return _json(self.path / "failure.json")

    @property
    def stamp(self) -> int:
        """Changes when the job has written its result or its failure."""
        return max(_changed(self.path / "manifest.json"), _changed(self.path / "failure.json"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the job while it is written: two processes may ask for other k of one job."""
        locks = self.path.parent / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{self.path.name}.lock"):
            yield

    def write(self, files: Mapping[str, Writer], *, manifest: Mapping[str, Any]) -> None:
        """Write the named files and the manifest; what was there under those names is replaced at once."""
        self.path.mkdir(parents=True, exist_ok=True)
        made: dict[str, Path] = {}
        try:
            for name, write in (*files.items(), ("manifest.json", write_json(manifest))):
                made[name] = _written_beside(self.path / name, write)
            self.discard("manifest.json")
            for name, path in made.items():
                path.replace(self.path / name)
        finally:
            for path in made.values():
                path.unlink(missing_ok=True)
        self.discard("failure.json")

    def put(self, name: str, write: Writer) -> None:
        """Write one more file beside those of a finished job."""
        _beside(self.path / name, write)

    def discard(self, name: str) -> None:
        """Remove a file of the job, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def fail(self, record: Mapping[str, Any]) -> None:
        """Record that the job failed or was skipped, and why."""
        self.path.mkdir(parents=True, exist_ok=True)
        _beside(self.path / "failure.json", lambda path: path.write_text(_pretty(record)))

    def run(self, collection: Collection) -> Run:
        """The rankings that the job has stored."""
        table = pq.read_table(self.path / "run.parquet")
        return Run.from_table(table, queries=collection.query_ids, docs=collection.doc_ids)


def write_table(table: pa.Table) -> Writer:
    """Write a table as Parquet; the same rows give the same bytes."""
    return lambda path: pq.write_table(table, path, compression="zstd")


def write_trec(run: Run, *, tag: str) -> Writer:
    """Write a run in the form of TREC; scores with every digit of their float64."""

    def write(path: Path) -> None:
        table = run.to_table()
        columns = (table[name].to_pylist() for name in ("query_id", "doc_id", "rank", "score"))
        with path.open("w", encoding="utf-8") as out:
            out.writelines(
                f"{query} Q0 {doc} {rank} {score!r} {tag}\n"
                for query, doc, rank, score in zip(*columns, strict=True)
            )

    return write


def write_text(text: str) -> Writer:
    """Write a text."""
    return lambda path: path.write_text(text, encoding="utf-8")


def write_json(value: Any) -> Writer:
    """Write a value as JSON."""
    return lambda path: path.write_text(_pretty(value))


def keep_collection(folder: Path, collection: Collection, docs: Iterable[str]) -> None:
    """Keep what a report needs: queries, qrels, and the documents that runs or qrels name.

    The documents of several jobs add up under one digest of the collection's state.
    """
    target = folder / "collections" / state_digest(collection)
    with JobFolder(target).locked():
        path = target / "corpus.jsonl"
        kept = {json.loads(line)["_id"] for line in path.read_text().splitlines()} if path.exists() else set()
        wanted = kept | set(docs) | set(collection.qrels.doc_ids)
        if path.exists() and wanted == kept:
            return
        target.mkdir(parents=True, exist_ok=True)
        (target / "qrels").mkdir(exist_ok=True)
        _beside(
            path,
            lambda p: p.write_text("".join(_doc_line(doc) for doc in collection.docs if doc.id in wanted)),
        )
        queries = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in collection.queries)
        _beside(target / "queries.jsonl", lambda p: p.write_text("".join(_line(query) for query in queries)))
        _beside(target / "qrels" / "test.tsv", lambda p: p.write_text(qrels_tsv(collection.qrels)))
        if collection.qrels.parts:
            _beside(target / "qrels" / "parts.tsv", lambda p: p.write_text(parts_tsv(collection.qrels)))


def state_digest(collection: Collection) -> str:
    """Names one state of a collection: texts, queries with their metadata, judgements."""
    metadata = json.dumps([dict(q.metadata) for q in collection.queries], sort_keys=True, default=str)
    return digest(collection.corpus_digest, collection.queries_digest, collection.qrels_digest, metadata)


@dataclass(frozen=True)
class Merged:
    """The tables of a whole folder, and how many jobs they leave out because their collection has changed."""

    grid: MetricGrid
    left_out: int


def merge(folder: Path, *, state: Mapping[str, dict[str, str]]) -> Merged:
    """Rebuild grid.parquet and per_query.parquet of a folder from its jobs, under a lock.

    `state` gives, for the collections at hand, the digests of corpus, queries and qrels; jobs of an earlier
    state of one, or of another version of the columns, are left out and counted. Collections that are not at
    hand keep the state of most of their jobs.
    """
    with JobFolder(folder / "grid").locked():
        jobs = [JobFolder(path) for path in sorted(folder.iterdir()) if path.is_dir() and not _aside(path)]
        finished = [(job, manifest) for job in jobs if (manifest := job.manifest)]
        current = {**_most_common(manifest for _, manifest in finished), **state}
        kept = [job for job, manifest in finished if _holds(manifest, current)]
        grid = concatenated([read_table(job.path / "grid.parquet", GRID) for job in kept], GRID)
        done = set(zip(*(grid[name].to_pylist() for name in NAMED_CELL), strict=True))
        rows = [row for job in jobs for row in (job.failure or {}).get("rows", ()) if _of(row, current)]
        failed = [row for row in rows if tuple(row[name] for name in NAMED_CELL) not in done]
        whole = concatenated([grid, MetricGrid.of(failed).table] if failed else [grid], GRID)
        per_query = concatenated(
            [read_table(job.path / "per_query.parquet", PER_QUERY) for job in kept], PER_QUERY
        )
        _beside(folder / "grid.parquet", write_table(whole))
        _beside(folder / "per_query.parquet", write_table(per_query))
        return Merged(MetricGrid(whole), len(finished) - len(kept))


CELL = ("system_id", "collection", "seed", "k")
"""What tells the cells of a folder apart."""
NAMED_CELL = ("system", *CELL[1:])
"""The same by label: a system that could not be had has another id than when it can."""


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


def _beside(path: Path, write: Writer) -> None:
    """Write a file beside its place and rename it there, so that nobody ever reads half of one."""
    _written_beside(path, write).replace(path)


def _written_beside(path: Path, write: Writer) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    try:
        write(Path(name))
        Path(name).chmod(0o644)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _changed(path: Path) -> int:
    """When a file was written, 0 while there is none: it may go at any moment."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BenchError(
            f"{path} is damaged ({error}); delete its folder and run the command again"
        ) from error
    return found if isinstance(found, dict) else None


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False, default=str) + "\n"


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _doc_line(doc: Doc) -> str:
    return _line({"_id": doc.id, "title": doc.title, "text": doc.text, "metadata": dict(doc.metadata)})
