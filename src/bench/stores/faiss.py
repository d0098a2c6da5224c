"""Any FAISS index that its factory can name (Douze et al., 2024, arXiv:2401.08281), by inner product."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bench.errors import BenchError, Unsuitable
from bench.identity import identity
from bench.stores import Array, Hits, best_first
from bench.stores.faiss_settings import (
    POINTS_PER_LIST,
    any_dim,
    faiss,
    make_reproducible,
    parts,
    search_names,
    settings,
    training_points,
)


@dataclass(frozen=True, kw_only=True)
class Faiss:
    """A FAISS index, built the same whatever the number of threads."""

    library: ClassVar[str] = "faiss"
    """What a retriever asks that is tied to stores of one library."""

    factory: str = "Flat"
    """FAISS's own name of the index, as `HNSW32` or `IVF{nlist},PQ32np`."""
    nlist: int | str | None = "auto"
    """Fills `{nlist}` in the factory; auto is 4 sqrt(n), less where lists would get under 39 vectors."""
    construction: Mapping[str, float] = field(default_factory=dict)
    """Settings of the build by FAISS's names, as efConstruction."""
    search: Mapping[str, float] = field(default_factory=dict)
    """Settings of the search by FAISS's names, as efSearch or nprobe; they are no part of the build."""
    seed: int = 0
    """For k-means and for the levels of HNSW."""
    threads: int | None = None
    """Threads of a search, and of a build where they cannot change it; by default FAISS's own number."""

    def __post_init__(self) -> None:
        for name, count in (("nlist", self.nlist), ("threads", self.threads)):
            whole = isinstance(count, int) and count >= 1
            if not (whole or count is None or (name, count) == ("nlist", "auto")):
                raise BenchError(
                    f"store.{name}={count}: a whole number from 1{', or auto' * (name == 'nlist')}"
                )
        if ("{nlist}" in self.factory) != isinstance(self.nlist, int) and self.nlist != "auto":
            raise BenchError(
                f"store.nlist={self.nlist}, store.factory={self.factory}: the number of lists stands where "
                "the factory says {nlist}: give both or neither"
            )
        for group, asked in (("construction", self.construction), ("search", self.search)):
            for name, value in asked.items():
                if not isinstance(value, int | float) or not value >= 1:
                    raise BenchError(f"store.{group}.{name}={value!r}: a number from 1")

    def identity(self) -> str:
        """Everything that changes a result: not the threads."""
        return f"Faiss({self._built_by()}, search={identity(self.search)})"

    def build_identity(self) -> str:
        """What a build is keyed by: the search settings change the search alone."""
        return f"Faiss({self._built_by()})"

    def check(self, documents: int) -> None:
        """Unsuitable where so few documents cannot train the index, or where it lacks a setting."""
        needed = training_points(self._factory(documents))
        if documents < needed:
            raise Unsuitable(
                f"store.factory={self.factory}: {documents} vectors cannot train it, it takes {needed}: "
                "take store=faiss_flat or store=faiss_hnsw, which need no training"
            )
        self._unfilled(documents, dim=any_dim(self.factory))

    def build(self, vectors: Array) -> FaissIndex:
        """Train on float32 vectors [n, dim] and add them; Unsuitable where FAISS cannot hold them so."""
        count, dim = vectors.shape
        self.check(count)
        index = self._unfilled(count, dim=dim)
        make_reproducible(index, count, seed=self.seed)
        # The links of a graph depend on the order in which threads add vectors (faiss issues 983, 2854).
        graph = any(hasattr(part, "hnsw") for _, part in parts(index))
        with _threads(1 if graph else self.threads), _refusal(f"store.factory={self.factory}"):
            values = np.ascontiguousarray(vectors, np.float32)
            index.train(values)
            index.add(values)
        return FaissIndex(index, threads=self.threads)

    def open(self, folder: Path) -> FaissIndex:
        """Open a saved index memory-mapped; BenchError where it is missing or cut short."""
        path, length = folder / "index.faiss", folder / "index.length"
        try:
            # Mapping a file that was cut short crashes the process or passes unseen (faiss 1.15.1).
            if (found := path.stat().st_size) != (saved := int(length.read_text())):
                raise ValueError(f"{found} bytes of {saved}")
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except (OSError, ValueError, RuntimeError) as error:
            raise BenchError(f"{path}: not a readable index: {_reason(error)}; remove its folder") from error
        self._set_search(index)
        return FaissIndex(index, threads=self.threads)

    def at_depth(self, depth: int) -> Faiss:
        """The recipe that searches any k as this one searches this depth: efSearch not below the depth."""
        sketch = self._unfilled(1, dim=any_dim(self.factory))
        if depth <= settings(sketch).get("efSearch", depth):
            return self
        return dataclasses.replace(self, search={**self.search, "efSearch": depth})

    def _built_by(self) -> str:
        names = ("factory", "nlist", "construction", "seed")
        return ", ".join(f"{name}={identity(getattr(self, name))}" for name in names)

    def _factory(self, count: int) -> str:
        lists = min(round(4 * math.sqrt(count)), count // POINTS_PER_LIST)
        return self.factory.replace("{nlist}", str(max(1, lists) if self.nlist == "auto" else self.nlist))

    def _unfilled(self, count: int, *, dim: int) -> Any:
        """The index before it is trained, with every setting."""
        with _refusal(f"store.factory={self.factory}"):
            index = faiss.index_factory(dim, self._factory(count), faiss.METRIC_INNER_PRODUCT)
        searched = search_names(index)
        for name, value in self.construction.items():
            with _refusal(f"store.construction.{name}"):
                if name in searched:
                    raise BenchError(
                        f"store.construction.{name}: changes the search alone: say store.search.{name}"
                    )
                faiss.ParameterSpace().set_index_parameter(index, name, value)
        self._set_search(index)
        return index

    def _set_search(self, index: Any) -> None:
        known = search_names(index)
        for name, value in self.search.items():
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise Unsuitable(f"store.search.{name}: the index {self.factory} has no such setting; {has}")
            most = settings(index)["nlist"] if name == "nprobe" else math.inf
            faiss.ParameterSpace().set_index_parameter(index, name, min(value, most))


class FaissIndex:
    """A filled FAISS index."""

    def __init__(self, index: Any, *, threads: int | None) -> None:
        self._index = index
        self._threads = threads
        self._deepest = 0
        # Where the work of a search follows k, asking for more would be another search.
        self._widens = not {"efSearch", "k_factor_rf"} & set(search_names(index))

    def search(self, queries: Array, k: int) -> Hits:
        """The k nearest vectors of each query [q, dim] that the index finds.

        FAISS takes any of the vectors that tie at the k-th place, this the smaller rows. So a short list is
        the beginning of a long one, except with HNSW and refinement, which look at more when k grows.
        """
        self._deepest = max(self._deepest, k)
        with _threads(self._threads):
            found = self._found(queries, k + self._widens)
            hits = Hits(found.rows[:, :k], found.scores[:, :k])
            for query in np.flatnonzero(
                (found.rows[:, k:] >= 0) & (found.scores[:, k:] == hits.scores[:, -1:])
            ):
                rows, scores = self._beyond_the_tie(queries[query : query + 1], k)
                hits.rows[query], hits.scores[query] = rows[0, :k], scores[0, :k]
        return hits

    def parameters(self) -> Mapping[str, object]:
        """Settings read back from the index; the largest k so far raised efSearch to `efSearch_used`."""
        found = settings(self._index)
        if "efSearch" in found:
            found["efSearch_used"] = max(found["efSearch"], self._deepest)
        return {"ntotal": int(self._index.ntotal), "dim": int(self._index.d), **found}

    def size_bytes(self) -> int:
        """The size of the index as `save` writes it."""
        sizes: list[int] = []
        writer = faiss.PyCallbackIOWriter(lambda data: sizes.append(len(data)))  # type: ignore[attr-defined]
        faiss.write_index(self._index, writer)
        return sum(sizes)

    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder."""
        path = folder / "index.faiss"
        faiss.write_index(self._index, str(path))
        (folder / "index.length").write_text(str(path.stat().st_size))

    def close(self) -> None:
        """Let go of the index, and of its file where it is memory-mapped."""
        del self._index

    def _found(self, queries: Array, k: int) -> Hits:
        scores, rows = self._index.search(np.ascontiguousarray(queries, np.float32), k)
        return best_first(rows, scores)

    def _beyond_the_tie(self, query: Array, k: int) -> Hits:
        width = 2 * k
        while True:
            found = self._found(query, width)
            if width >= self._index.ntotal or found.scores[0, -1] < found.scores[0, k - 1]:
                return found
            width *= 2


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count or before)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@contextmanager
def _refusal(where: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = _reason(error)
        kind = BenchError if "could not parse" in reason else Unsuitable
        raise kind(f"{where}: FAISS says: {reason}") from error


def _reason(error: Exception) -> str:
    return re.sub(r"^Error in .* at \S+:\d+: ", "", str(error), flags=re.DOTALL)
