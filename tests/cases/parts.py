"""Parts that fail where they are told to, and parts that read only so many words of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.embedders import Vectors
from bench.embedders.hashing import Hashing
from bench.rerankers.pairs import PairScores
from bench.stores import Array, Hits, VectorIndex
from bench.stores.exact import Exact

WHERE = ("documents", "build", "search", "parameters")
"""Steps of a dense retriever, any of which can fail."""


def fail(where: str, step: str) -> None:
    if where == step:
        raise RuntimeError(f"out of order in {step}")


@dataclass(frozen=True, kw_only=True)
class FaultyEmbedder:
    """The hashing embedder, until a step of it fails."""

    where: str

    def identity(self) -> str:
        return f"FaultyEmbedder({self.where})"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        fail(self.where, "documents")
        return Hashing().embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        fail(self.where, "queries")
        return Hashing().embed_queries(texts)


@dataclass(frozen=True, kw_only=True)
class FaultyStore:
    """The exact store, until a step of it fails."""

    where: str

    def build(self, vectors: Array) -> FaultyIndex:
        fail(self.where, "build")
        return FaultyIndex(Exact().build(vectors), self.where)

    def open(self, folder: Path) -> FaultyIndex:
        return FaultyIndex(Exact().open(folder), self.where)


class FaultyIndex:
    """The exact index, until a step of it fails."""

    def __init__(self, index: VectorIndex, where: str) -> None:
        self._index, self._where = index, where

    def search(self, queries: Array, k: int) -> Hits:
        fail(self._where, "search")
        return self._index.search(queries, k)

    def parameters(self) -> Mapping[str, object]:
        fail(self._where, "parameters")
        return self._index.parameters()

    def size_bytes(self) -> int:
        return self._index.size_bytes()

    def save(self, folder: Path) -> None:
        self._index.save(folder)

    def close(self) -> None:
        self._index.close()


@dataclass(frozen=True, kw_only=True)
class ShortSighted:
    """An embedder that reads the first words of a text and no more, and says how many it left."""

    words: int

    def identity(self) -> str:
        return f"ShortSighted({self.words})"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        read = [" ".join(text.split()[: self.words]) for text in texts]
        return Vectors(Hashing().embed_documents(read).values, left(texts, self.words))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts)


@dataclass(frozen=True, kw_only=True)
class ShortSightedScorer:
    """A scorer that reads a query whole and the first words of a document: it counts those that both have."""

    words: int

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        read = [set(document.split()[: self.words]) for document in documents]
        shared = [len(set(query.split()) & found) for query, found in zip(queries, read, strict=True)]
        return PairScores(np.array(shared, np.float64), left(documents, self.words))


def left(texts: Sequence[str], words: int) -> np.ndarray:
    return np.array([max(0, len(text.split()) - words) for text in texts], np.int32)
