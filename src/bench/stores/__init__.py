"""Vector stores: arrays in, arrays out. A store never sees an id, a text or a judgement.

A store is a recipe (a frozen dataclass); building it over vectors, or opening what was saved, gives an index
that is always ready. Vectors come normalised, stores rank by inner product, higher is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


class Hits(NamedTuple):
    """What a search found: best first, row -1 (and score -inf) where nothing was found."""

    rows: npt.NDArray[np.int64]
    """Rows of the vectors that the index was built from, int64 [q, k]."""
    scores: Array
    """Inner products, float32 [q, k], falling along the last axis."""


class VectorIndex(Protocol):
    """Vectors made searchable by one store."""

    def search(self, queries: Array, k: int) -> Hits:
        """The k nearest vectors of each query [q, dim]; short lists end in row -1."""

    def parameters(self) -> Mapping[str, object]:
        """The settings in force, read back from the index, not those that were asked for."""

    def size_bytes(self) -> int:
        """What the index occupies: its file's size, or that of its arrays."""

    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder."""

    def close(self) -> None:
        """Let go of files, memory and servers."""


class VectorStore(Protocol):
    """A recipe for an index. Settings under `search` change the search alone: one build serves many."""

    def build(self, vectors: Array) -> VectorIndex:
        """Build over float32 vectors [n, dim]; Unsuitable where this recipe cannot hold them."""

    def open(self, folder: Path) -> VectorIndex:
        """Open what an index of the same build settings has saved."""


def top_k(scores: npt.NDArray[np.floating], k: int) -> Hits:
    """The k best columns of each row of scores [q, n], ties to the smaller column; -inf is no hit.

    The one place where a store sorts. Where more than k columns tie at the k-th score, the smaller columns
    are taken, so the top 5 is always the beginning of the top 50.
    """
    queries, count = scores.shape
    width = min(k, count)
    rows = np.full((queries, k), -1, np.int64)
    best = np.full((queries, k), -np.inf, np.float32)
    if not width:
        return Hits(rows, best)
    threshold = np.partition(scores, count - width, axis=1)[:, count - width]
    for query in range(queries):
        line = scores[query]
        above = np.flatnonzero(line > threshold[query])
        level = np.flatnonzero(line == threshold[query])[: width - len(above)]
        chosen = np.concatenate([above, level])
        chosen = chosen[np.argsort(-line[chosen], kind="stable")]
        chosen = chosen[line[chosen] > -np.inf]
        rows[query, : len(chosen)] = chosen
        best[query, : len(chosen)] = line[chosen]
    return Hits(rows, best)


def best_first(rows: npt.NDArray[np.integer], scores: npt.NDArray[np.floating]) -> Hits:
    """Lists that a library found, rows and scores [q, k], in the order of `top_k`; a row below 0 is no hit.

    Libraries promise no order among equal scores, and fill short lists with scores of their own.
    """
    missing = rows < 0
    found = np.where(missing, -1, rows).astype(np.int64)
    level = np.where(missing, -np.inf, scores).astype(np.float32)
    order = np.lexsort((found, -level, missing), axis=-1)
    return Hits(np.take_along_axis(found, order, -1), np.take_along_axis(level, order, -1))
