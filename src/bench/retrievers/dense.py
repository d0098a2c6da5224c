"""Dense retrieval: one vector a text, the nearest by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.collection import Doc, Query
from bench.embedders import Embedder, Vectors
from bench.errors import BenchError, Unsuitable
from bench.identity import identity
from bench.ids import Ids
from bench.retrievers import ids_of
from bench.runs import Run
from bench.stores import Array, VectorIndex, VectorStore


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Any embedder over any store.

    `library` ties the retriever to the stores of one library, which say theirs in an attribute of this name.
    """

    embedder: Embedder
    store: VectorStore
    library: str | None = None

    def identity(self) -> str:
        """Embedder and store: which stores were allowed changes no ranking."""
        return f"Dense(embedder={identity(self.embedder)}, store={identity(self.store)})"

    def check(self, _documents: int) -> None:
        """Unsuitable where the store is not of the library asked for."""
        if self.library not in (None, getattr(self.store, "library", None)):
            raise Unsuitable(
                f"retriever={self.library} searches stores of that library alone, and the store is "
                f"{identity(self.store)}: take retriever=dense, which has any store"
            )

    def index(self, docs: Sequence[Doc]) -> DenseIndex:
        """Embed the documents and build the store over their vectors, normalised."""
        ids = ids_of(docs)
        vectors = self.embedder.embed_documents([doc.contents for doc in docs])
        return DenseIndex(self.embedder, ids, vectors, self.store.build(normalised(vectors.values)))


class DenseIndex:
    """Documents as vectors in a store."""

    def __init__(self, embedder: Embedder, docs: Ids, documents: Vectors, index: VectorIndex) -> None:
        self._embedder = embedder
        self._docs = docs
        self._index = index
        self._length = documents.values.shape[1]
        self._facts = _cut("documents", documents)

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The `depth` documents of the highest cosine for each query; BenchError where vectors differ in length."""
        vectors = self._embedder.embed_queries([query.text for query in queries])
        if queries and vectors.values.shape[1] != self._length:
            raise BenchError(
                f"the embedder gave queries vectors of {vectors.values.shape[1]} and documents vectors of "
                f"{self._length}: is it one model, of one version?"
            )
        hits = self._index.search(normalised(vectors.values), depth)
        short = (hits.rows >= 0).sum(axis=1) < min(depth, len(self._docs))
        self._facts |= _cut("queries", vectors) | {"short_lists": int(short.sum())}
        rows = hits.rows.astype(np.int32)
        return Run(tuple(query.id for query in queries), self._docs, rows, hits.scores.astype(np.float64))

    def facts(self) -> dict[str, object]:
        """Parameters of the store read back, its bytes, texts cut, and short lists of the last search."""
        return {
            "parameters": dict(self._index.parameters()),
            "index_bytes": self._index.size_bytes(),
            **self._facts,
        }

    def close(self) -> None:
        """Close the store's index."""
        self._index.close()


def normalised(vectors: Array) -> Array:
    """The vectors at length 1, float32 [n, dim]; a zero vector stays zero, and nothing is modified.

    BenchError where a vector is not finite.
    """
    # Squares in double precision: in float32 they overflow from 1e19 and vanish below 1e-23.
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not np.isfinite(lengths).all():
        text = int(np.argmin(np.isfinite(lengths)))
        raise BenchError(f"the embedder gave text {text} (from 0) a vector that is not finite")
    by = lengths.astype(np.float32)[:, np.newaxis]
    unit: Array = np.zeros(vectors.shape, np.float32)
    np.divide(vectors, by, out=unit, where=by > 0)
    return unit


def _cut(kind: str, vectors: Vectors) -> dict[str, object]:
    return {f"{kind}_cut": int((vectors.cut > 0).sum()), f"{kind}_tokens_cut": int(vectors.cut.sum())}
