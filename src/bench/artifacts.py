"""What stands under outputs/: written beside and renamed, the manifest last, rebuilt from finished jobs alone."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from bench.collection import Collection, Doc
from bench.errors import BenchError
from bench.identity import digest
from bench.loading import BeirFolder, parts_tsv, qrels_tsv
from bench.runs import Run

OUTPUTS = Path("outputs")
Writer = Callable[[Path], object]
"""Writes one file at the path it is given."""
CELL = ("system_id", "collection", "seed", "k", "budget")
"""What tells the cells of a folder apart."""


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
        self._replace(files, manifest)
        self.discard("failure.json")

    def amend(self, files: Mapping[str, Writer], *, manifest: Mapping[str, Any]) -> None:
        """Write files of a finished job again. It stays as old as it was, and so does a failure after it."""
        with as_old(self.path / "manifest.json"):
            self._replace(files, manifest)

    def _replace(self, files: Mapping[str, Writer], manifest: Mapping[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        made: dict[str, Path] = {}
        try:
            for name, write in (*files.items(), ("manifest.json", write_json(manifest))):
                made[name] = _made_beside(self.path / name, write)
            self.discard("manifest.json")
            for name, path in made.items():
                path.replace(self.path / name)
        finally:
            for path in made.values():
                path.unlink(missing_ok=True)

    def put(self, name: str, write: Writer) -> None:
        """Write one more file beside those of a finished job."""
        write_beside(self.path / name, write)

    def discard(self, name: str) -> None:
        """Remove a file of the job, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def fail(self, record: Mapping[str, Any]) -> None:
        """Record that the job failed or was skipped, and why."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_beside(self.path / "failure.json", lambda path: path.write_text(_pretty(record)))

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


def kept_collection(folder: Path, manifest: Mapping[str, Any]) -> Collection:
    """What `keep_collection` kept of a job's collection: queries, judgements and those documents.

    The digest of its corpus is that of the whole.
    """
    path = folder / "collections" / str(manifest["state"])
    loader = BeirFolder(
        path=str(path), name=manifest["collection"], unknown="keep", max_grade=manifest["max_grade"]
    )
    return replace(loader.load(), notes=(), whole_corpus=manifest["digests"]["corpus"])


def keep_collection(folder: Path, collection: Collection, docs: Iterable[str]) -> None:
    """Keep what a report needs: queries, qrels, and the documents that runs or qrels name.

    The documents of several jobs add up under one digest of the collection's state.
    """
    target = folder / "collections" / state_digest(collection)
    with JobFolder(target).locked():
        path = target / "corpus.jsonl"
        kept = _kept(path)
        wanted = kept | set(docs) | set(collection.qrels.doc_ids)
        if (
            wanted == kept
            and (target / "queries.jsonl").exists()
            and (target / "qrels" / "test.tsv").exists()
        ):
            return
        target.mkdir(parents=True, exist_ok=True)
        (target / "qrels").mkdir(exist_ok=True)
        write_beside(
            path,
            lambda p: p.write_text("".join(_doc_line(doc) for doc in collection.docs if doc.id in wanted)),
        )
        queries = ({"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in collection.queries)
        write_beside(
            target / "queries.jsonl", lambda p: p.write_text("".join(_line(query) for query in queries))
        )
        write_beside(target / "qrels" / "test.tsv", lambda p: p.write_text(qrels_tsv(collection.qrels)))
        if collection.qrels.parts:
            write_beside(target / "qrels" / "parts.tsv", lambda p: p.write_text(parts_tsv(collection.qrels)))


def _kept(corpus: Path) -> set[str]:
    """The documents that are kept already; none where the file is damaged and so made again."""
    try:
        return {json.loads(line)["_id"] for line in corpus.read_text().split("\n") if line}
    except (OSError, ValueError, KeyError):
        return set()


def state_digest(collection: Collection) -> str:
    """Names one state of a collection: texts, queries with their metadata, judgements."""
    metadata = json.dumps([dict(q.metadata) for q in collection.queries], sort_keys=True, default=str)
    return digest(collection.corpus_digest, collection.queries_digest, collection.qrels_digest, metadata)


def write_beside(path: Path, write: Writer) -> None:
    """Write a file beside its place and rename it there, so that nobody ever reads half of one."""
    _made_beside(path, write).replace(path)


@contextmanager
def as_old(path: Path) -> Iterator[None]:
    """Whatever is written at the path meanwhile, it stays as old as it was."""
    before = path.stat()
    yield
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _made_beside(path: Path, write: Writer) -> Path:
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
