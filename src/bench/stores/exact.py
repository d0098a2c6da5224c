"""The reference: every vector is compared with every query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.errors import BenchError, Unsuitable
from bench.stores import Array, Hits, best_first, top_k

SCORES_AT_ONCE = 1 << 24
"""How many inner products are held at a time: 64 MB of float32."""
QUERIES_AT_ONCE = 64
SPARE = 32
"""How many places beyond k are scored again, for vectors that are equal or nearly so at the k-th place."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """Exact search by inner product with numpy; nothing to train, nothing to set."""

    search: Mapping[str, float] = field(default_factory=dict)
    """Stays empty: it is here so that a sweep over search settings skips this store and says why."""

    def check(self, documents: int) -> None:
        """Unsuitable where a search setting is asked for, or there is nothing to search."""
        if documents < 1:
            raise Unsuitable("store: there are no vectors to search")
        if self.search:
            asked = ", ".join(sorted(self.search))
            raise Unsuitable(f"store.search: exact search has no settings, so no {asked}: leave it out")

    def build(self, vectors: Array) -> ExactIndex:
        """Take float32 vectors [n, dim] as they are, without copying them."""
        self.check(len(vectors))
        return ExactIndex(np.ascontiguousarray(vectors, np.float32))

    def open(self, folder: Path) -> ExactIndex:
        """Open saved vectors memory-mapped; BenchError where the file is missing or damaged."""
        self.check(1)
        path = folder / "vectors.npy"
        try:
            vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise BenchError(f"{path}: not a readable index: {error}; remove its folder") from error
        if vectors.ndim != 2 or vectors.dtype != np.float32:
            raise BenchError(
                f"{path}: holds {vectors.dtype} {vectors.shape}, not float32 [n, dim]; remove its folder"
            )
        return ExactIndex(vectors)


class ExactIndex:
    """Vectors in memory or memory-mapped."""

    def __init__(self, vectors: Array) -> None:
        self._vectors = vectors

    def search(self, queries: Array, k: int) -> Hits:
        """The k nearest vectors of each query [q, dim], the same whatever queries are searched together.

        A matrix product rounds an inner product by where it stands in the matrix, so that equal vectors get
        unequal scores. It only chooses candidates here; these are scored again, each pair by itself.
        """
        vectors = np.asarray(self._vectors)
        hits = Hits(np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32))
        block = max(1, min(QUERIES_AT_ONCE, SCORES_AT_ONCE // len(vectors)))
        for start in range(0, len(queries), block):
            asked = queries[start : start + block]
            rows = top_k(asked @ vectors.T, k + SPARE).rows
            found = best_first(rows, np.einsum("qd,qkd->qk", asked, vectors[rows], dtype=np.float64))
            hits.rows[start : start + block] = found.rows[:, :k]
            hits.scores[start : start + block] = found.scores[:, :k]
        return hits

    def parameters(self) -> Mapping[str, object]:
        """The number of vectors and their dimensions."""
        return {"ntotal": len(self._vectors), "dim": int(self._vectors.shape[1])}

    def size_bytes(self) -> int:
        """The bytes of the vectors."""
        return int(self._vectors.nbytes)

    def save(self, folder: Path) -> None:
        """Write the vectors into an existing, empty folder."""
        np.save(folder / "vectors.npy", self._vectors)

    def close(self) -> None:
        """Let go of the vectors, and of their file where they are memory-mapped."""
        del self._vectors
