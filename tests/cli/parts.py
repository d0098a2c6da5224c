"""Parts of somebody else's package, which a folder of configuration brings in: they count, fail, wait, are missing."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.collection import Collection, Doc, Query
from bench.embedders import Vectors
from bench.embedders.hashing import Hashing
from bench.errors import Unavailable
from bench.retrievers import Index, Retriever
from bench.runs import Run


def noted(line: str) -> None:
    with Path("calls.txt").open("a") as log:
        log.write(f"{line}\n")


@dataclass(frozen=True, kw_only=True)
class Counting:
    """The hashing embedder, writing down what it is asked for."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        noted(f"{len(texts)} documents")
        return Hashing().embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        noted(f"{len(texts)} queries")
        return Hashing().embed_queries(texts)

    def identity(self) -> str:
        return "Counting()"


@dataclass(frozen=True, kw_only=True)
class Unreachable:
    """An embedder whose model cannot be had."""

    def check(self, documents: int) -> None:
        raise Unavailable("the model is on another planet: take embedder=hashing")


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A reranker that fails while it works, until it is mended."""

    def rerank(self, run: Run, collection: Collection) -> Run:
        if Path("mended.txt").exists():
            return run
        raise RuntimeError("a bug in somebody's reranker")


@dataclass(frozen=True, kw_only=True)
class Puzzled:
    """A reranker that breaks where it should say whether it can run."""

    def check(self, documents: int) -> None:
        raise TypeError("a number is needed, not a text")

    def rerank(self, run: Run, collection: Collection) -> Run:
        return run


@dataclass(frozen=True, kw_only=True)
class Deadly:
    """A reranker that takes its process with it, as one does that the system stops for want of memory."""

    def rerank(self, run: Run, collection: Collection) -> Run:
        os._exit(1)


@dataclass(frozen=True, kw_only=True)
class Slow:
    """A retriever that takes its time to search and writes down that it has begun."""

    inner: Retriever
    seconds: float

    def identity(self) -> str:
        return f"Slow({self.inner})"

    def index(self, docs: Sequence[Doc]) -> SlowIndex:
        return SlowIndex(self.inner.index(docs), self.seconds)


class SlowIndex:
    """The index of the retriever inside, later."""

    def __init__(self, index: Index, seconds: float) -> None:
        self._index, self._seconds = index, seconds

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        noted("search")
        time.sleep(self._seconds)
        return self._index.search(queries, depth)

    def facts(self) -> dict[str, object]:
        return self._index.facts()

    def close(self) -> None:
        self._index.close()
