"""A ranking that was made before, by whatever system: a run in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from bench.collection import Doc, Query
from bench.errors import BenchError, listing
from bench.reading import read_hits
from bench.retrievers import ids_of
from bench.retrievers.foreign import Matching
from bench.runs import Run


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """A stored run in the form of TREC, JSON or Parquet (see bench.reading), plain or gzipped.

    `unknown` says what becomes of documents that the collection does not have: error or drop. `duplicates`
    says it of documents that stand twice in a ranking: error or keep-first. Queries that the collection does
    not have are counted, for a file may hold those of another half too; queries that the file does not have
    go unanswered.
    """

    path: str
    unknown: str = "error"
    duplicates: str = "error"

    elsewhere: ClassVar[bool] = True
    stored: ClassVar[bool] = True
    """Nothing is indexed and nothing searched, so there is no time to measure."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))
        if not Path(self.path).is_file():
            raise BenchError(f"run_file.path: there is no file {self.path}")
        self._matching()

    def identity(self) -> str:
        """What the file holds, not where it lies."""
        return f"RunFile(contents={self._contents}, unknown={self.unknown!r}, duplicates={self.duplicates!r})"

    def index(self, docs: Sequence[Doc]) -> RunFileIndex:
        """Read the file; BenchError lists the lines that are broken."""
        return RunFileIndex(self.path, read_hits(self.path), docs, self._matching())

    @cached_property
    def _contents(self) -> str:
        with Path(self.path).open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=8)).hexdigest()

    def _matching(self) -> Matching:
        return Matching(group="run_file", unknown=self.unknown, duplicates=self.duplicates)


class RunFileIndex:
    """The rankings of a file."""

    def __init__(self, path: str, hits: pa.Table, docs: Sequence[Doc], matching: Matching) -> None:
        self._path, self._hits, self._docs, self._matching = path, hits, ids_of(docs), matching
        self._facts: dict[str, object] = {}

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The best `depth` of what the file ranks for each query; BenchError where it has none of them."""
        asked = tuple(query.id for query in queries)
        theirs = self._hits.filter(pc.is_in(self._hits["query_id"], value_set=pa.array(asked, pa.string())))
        every, known = (set(pc.unique(hits["query_id"]).to_pylist()) for hits in (self._hits, theirs))
        if not known:
            raise BenchError(
                f"{self._path} ranks none of the {len(asked)} queries: its ids are like "
                f"{listing(sorted(every), most=3)}, those of the collection like {listing(asked, most=3)}"
            )
        run, left_out = self._matching.run(theirs, queries=asked, docs=self._docs, depth=depth)
        self._facts = {**left_out, "unknown_queries": len(every - known)}
        return run

    def facts(self) -> dict[str, object]:
        """How many hits and queries of the file were left out of the last search."""
        return {"index_bytes": None, **self._facts}

    def close(self) -> None:
        """There is nothing to let go of."""
