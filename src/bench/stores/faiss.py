"""Any FAISS index that its factory can name (Douze et al., 2024, arXiv:2401.08281), by inner product."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.errors import BenchError, Unsuitable, missing_library
from bench.identity import identity
from bench.stores import Array, Hits, best_first

try:
    import faiss
except ImportError as error:
    raise missing_library("faiss-cpu") from error

POINTS_PER_LIST = 39
"""Below so many points a centroid FAISS warns that k-means is poorly trained."""

READ_BACK: Mapping[str, Callable[[Any], float]] = {
    "nlist": lambda index: index.nlist,
    "nprobe": lambda index: index.nprobe,
    "M": lambda index: index.hnsw.nb_neighbors(1),
    "efConstruction": lambda index: index.hnsw.efConstruction,
    "efSearch": lambda index: index.hnsw.efSearch,
    "pq_M": lambda index: index.pq.M,
    "pq_bits": lambda index: index.pq.nbits,
    "ht": lambda index: index.polysemous_ht,
    "k_factor_rf": lambda index: index.k_factor,
}
"""Where an index keeps a setting; an index of another kind has no such attribute."""


@dataclass(frozen=True, kw_only=True)
class Faiss:
    """A FAISS index, built the same whatever the number of threads."""

    factory: str = "Flat"
    """FAISS's own name of the index, as `HNSW32` or `IVF{nlist},PQ32np`."""
    nlist: int | str | None = "auto"
    """Fills `{nlist}` in the factory; auto is 4 sqrt(n), less where lists would get under 39 vectors."""
    build: Mapping[str, float] = field(default_factory=dict)
    """Settings of the build by FAISS's names, as efConstruction."""
    search: Mapping[str, float] = field(default_factory=dict)
    """Settings of the search by FAISS's names, as efSearch or nprobe; they are no part of the build."""
    seed: int = 0
    """For k-means and for the levels of HNSW."""
    threads: int | None = None
    """Threads of a search, and of a build where they cannot change it; by default FAISS's own number."""

    def __post_init__(self) -> None:
        for name, given in (("nlist", self.nlist), ("threads", self.threads)):
            if isinstance(given, int) and given < 1:
                raise BenchError(f"store.{name}={given}: a number from 1")
        if isinstance(self.nlist, str) and self.nlist != "auto":
            raise BenchError(f"store.nlist={self.nlist}: a number from 1, or auto")
        if ("{nlist}" in self.factory) != isinstance(self.nlist, int) and self.nlist != "auto":
            raise BenchError(
                f"store.nlist={self.nlist}, store.factory={self.factory}: the number of lists stands where "
                "the factory says {nlist}: give both or neither"
            )
        for group, settings in (("build", self.build), ("search", self.search)):
            for name, value in settings.items():
                if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                    raise BenchError(f"store.{group}.{name}={value!r}: a number above 0")

    def identity(self) -> str:
        """Everything that changes a result: not the threads."""
        return f"Faiss({self._built_by()}, search={identity(self.search)})"

    def build_identity(self) -> str:
        """What a build is keyed by: the search settings change the search alone."""
        return f"Faiss({self._built_by()})"

    def check(self, documents: int) -> None:
        """Unsuitable where so few documents cannot train the index, or where it lacks a setting."""
        needed = _training_points(self._factory(documents))
        if documents < needed:
            raise Unsuitable(
                f"store.factory={self.factory}: {documents} vectors are too few to train it, it takes {needed}: "
                "take store=faiss_flat or store=faiss_hnsw, which need no training"
            )
        self._unfilled(documents, dim=_any_dim(self.factory))

    def build(self, vectors: Array) -> FaissIndex:
        """Train on float32 vectors [n, dim] and add them; Unsuitable where FAISS cannot hold them so."""
        count, dim = vectors.shape
        self.check(count)
        index = self._unfilled(count, dim=dim)
        for part in _parts(index):
            _make_reproducible(part, count, seed=self.seed)
        # The links of a graph depend on the order in which threads add vectors (faiss issues 983, 2854).
        graph = any(hasattr(part, "hnsw") for part in _parts(index))
        with _threads(1 if graph else self.threads), _refusal(f"store.factory={self.factory}"):
            values = np.ascontiguousarray(vectors, np.float32)
            index.train(values)
            index.add(values)
        return FaissIndex(index, threads=self.threads)

    def open(self, folder: Path) -> FaissIndex:
        """Open a saved index, memory-mapped where that is safe; BenchError where it is missing or damaged."""
        path = folder / "index.faiss"
        # A mapped inverted file that lost its last few bytes opens without complaint (faiss 1.15.1).
        flags = 0 if "IVF" in self.factory else faiss.IO_FLAG_MMAP_IFC
        try:
            index = faiss.read_index(str(path), flags)
        except RuntimeError as error:
            raise BenchError(f"{path}: not a readable index: {_reason(error)}; remove its folder") from error
        self._set_search(index)
        return FaissIndex(index, threads=self.threads)

    def at_depth(self, depth: int) -> Faiss:
        """The recipe that searches any k as this one searches this depth: efSearch not below the depth."""
        sketch = self._unfilled(1, dim=_any_dim(self.factory))
        if depth <= _settings(sketch).get("efSearch", depth):
            return self
        return dataclasses.replace(self, search={**self.search, "efSearch": depth})

    def _built_by(self) -> str:
        names = ("factory", "nlist", "build", "seed")
        return ", ".join(f"{name}={identity(getattr(self, name))}" for name in names)

    def _factory(self, count: int) -> str:
        lists = min(round(4 * math.sqrt(count)), count // POINTS_PER_LIST)
        return self.factory.replace("{nlist}", str(max(1, lists) if self.nlist == "auto" else self.nlist))

    def _unfilled(self, count: int, *, dim: int) -> Any:
        """The index before it is trained, with every setting."""
        with _refusal(f"store.factory={self.factory}"):
            index = faiss.index_factory(dim, self._factory(count), faiss.METRIC_INNER_PRODUCT)
        searched = _search_names(index)
        for name, value in self.build.items():
            with _refusal(f"store.build.{name}"):
                if name in searched:
                    raise BenchError(f"store.build.{name}: changes the search alone: say store.search.{name}")
                faiss.ParameterSpace().set_index_parameter(index, name, value)
        self._set_search(index)
        return index

    def _set_search(self, index: Any) -> None:
        known = _search_names(index)
        for name, value in self.search.items():
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise Unsuitable(f"store.search.{name}: the index {self.factory} has no such setting; {has}")
            most = _settings(index)["nlist"] if name == "nprobe" else math.inf
            faiss.ParameterSpace().set_index_parameter(index, name, min(value, most))


class FaissIndex:
    """A filled FAISS index."""

    short_lists: int = 0
    """How many lists of the last search ended before k and before the last vector."""

    def __init__(self, index: Any, *, threads: int | None) -> None:
        self._index = index
        self._threads = threads
        self._deepest = 0
        # Where the settings of a search follow k, asking for more would be another search.
        self._widens = not {"efSearch", "k_factor_rf"} & set(_search_names(index))

    def search(self, queries: Array, k: int) -> Hits:
        """The k nearest vectors of each query [q, dim] that the index finds.

        FAISS takes any of the vectors that tie at the k-th place. Here it is the smaller rows, so that a short
        list is the beginning of a long one, except with HNSW and refinement: those look at more when k grows.
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
        self.short_lists = int((hits.rows[:, min(k, self._index.ntotal) - 1] < 0).sum())
        return hits

    def parameters(self) -> Mapping[str, object]:
        """Settings read back from the index; `efSearch_used` is what efSearch was raised to by the largest k."""
        settings = _settings(self._index)
        if "efSearch" in settings:
            settings["efSearch_used"] = max(settings["efSearch"], self._deepest)
        return {"ntotal": int(self._index.ntotal), "dim": int(self._index.d), **settings}

    def size_bytes(self) -> int:
        """The size of the file that `save` writes."""
        sizes: list[int] = []
        faiss.write_index(self._index, faiss.PyCallbackIOWriter(lambda data: sizes.append(len(data))))
        return sum(sizes)

    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder."""
        faiss.write_index(self._index, str(folder / "index.faiss"))

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
        raise Unsuitable(f"{where}: FAISS says: {_reason(error)}") from error


def _reason(error: RuntimeError) -> str:
    return re.sub(r"^Error in .* at \S+:\d+: ", "", str(error), flags=re.DOTALL)


def _parts(index: Any) -> Iterator[Any]:
    """The index and the indexes inside it, outermost first."""
    index = faiss.downcast_index(index)
    yield index
    for name in ("index", "base_index", "quantizer"):
        if isinstance(inner := getattr(index, name, None), faiss.Index):
            yield from _parts(inner)


def _settings(index: Any) -> dict[str, float]:
    """The settings of the index and of those inside it, the outermost where they share a name."""
    found: dict[str, float] = {}
    for part in _parts(index):
        for name, read in READ_BACK.items():
            with suppress(AttributeError):
                found.setdefault(name, read(part))
    return found


def _search_names(index: Any) -> list[str]:
    space = faiss.ParameterSpace()
    space.initialize(index)
    return [space.parameter_ranges.at(place).name for place in range(space.parameter_ranges.size())]


def _make_reproducible(part: Any, count: int, *, seed: int) -> None:
    """Seed what is random in this part, and expect of its k-means no more points than there are."""
    centroids = []
    if hasattr(part, "cp"):
        centroids.append((part.cp, part.nlist))
    if hasattr(part, "pq"):
        centroids.append((part.pq.cp, part.pq.ksub))
    for kmeans, wanted in centroids:
        kmeans.seed = seed
        kmeans.min_points_per_centroid = max(1, min(POINTS_PER_LIST, count // wanted))
    if hasattr(part, "hnsw"):
        part.hnsw.rng = faiss.RandomGenerator(seed)


def _training_points(factory: str) -> int:
    """The fewest vectors that the k-means in this index can be trained on: one a centroid."""
    lists = [int(count) for count in re.findall(r"IVF(\d+)", factory)]
    codes = [2 ** int(bits or 8) for bits in re.findall(r"PQ\d+(?:x(\d+))?", factory)]
    return max([1, *lists, *codes])


def _any_dim(factory: str) -> int:
    """Dimensions that this index could have, to look at its settings before there are vectors."""
    return math.lcm(512, *(int(pieces) for pieces in re.findall(r"PQ(\d+)", factory)))
