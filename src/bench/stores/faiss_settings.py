"""What a FAISS index can be told, and what it says it was told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from bench.errors import missing_library

try:
    import faiss as faiss
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


def parts(index: Any, *, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The index and the indexes inside it, outermost first, each with what FAISS puts before its settings."""
    index = faiss.downcast_index(index)
    yield prefix, index
    for name, inside in (("index", ""), ("base_index", ""), ("storage", ""), ("quantizer", "quantizer_")):
        if isinstance(inner := getattr(index, name, None), faiss.Index):
            yield from parts(inner, prefix=prefix + inside)


def settings(index: Any) -> dict[str, float]:
    """The settings in force, of the index and of those inside it."""
    found: dict[str, float] = {}
    for prefix, part in parts(index):
        for name, read in READ_BACK.items():
            with suppress(AttributeError):
                found.setdefault(prefix + name, read(part))
    return found


def search_names(index: Any) -> list[str]:
    """The names of what changes a search of this index, as FAISS calls them."""
    space = faiss.ParameterSpace()
    space.initialize(index)
    return [space.parameter_ranges.at(place).name for place in range(space.parameter_ranges.size())]


def make_reproducible(index: Any, count: int, *, seed: int) -> None:
    """Seed what is random in a build, and expect of k-means no more than these vectors, or FAISS prints."""
    for _, part in parts(index):
        trained = [(part.cp, part.nlist)] if hasattr(part, "cp") else []
        trained += [(part.pq.cp, part.pq.ksub)] if hasattr(part, "pq") else []
        for kmeans, centroids in trained:
            kmeans.seed = seed
            kmeans.min_points_per_centroid = max(1, min(POINTS_PER_LIST, count // centroids))
        if hasattr(part, "hnsw"):
            part.hnsw.rng = faiss.RandomGenerator(seed)  # type: ignore[attr-defined]


def training_points(factory: str) -> int:
    """The fewest vectors that the k-means in this index can be trained on: one a centroid."""
    lists = [int(count) for count in re.findall(r"IVF(\d+)", factory)]
    codes: list[int] = [2 ** int(bits or 8) for bits in re.findall(r"PQ\d+(?:x(\d+))?", factory)]
    return max([1, *lists, *codes])


def any_dim(factory: str) -> int:
    """Dimensions that this index could have, to look at its settings before there are vectors."""
    return math.lcm(512, *map(int, re.findall(r"PQ(\d+)", factory)))
