"""Parts with a cache around them: what they compute is computed once, and nothing in them knows."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.cache import Cache
from bench.embedders import Embedder, Vectors
from bench.errors import BenchError
from bench.identity import digest, identity
from bench.rerankers.pairs import PairScorer, PairScores
from bench.stores import VectorIndex, VectorStore


def cached(part: Any, cache: Cache, *, anew: bool = False) -> Any:
    """The part with a cache around it, where it is an embedder, a store or a pair scorer.

    With `anew` nothing is taken from the cache; what is made is kept there all the same.
    """
    if hasattr(part, "embed_documents"):
        return CachedEmbedder(part, cache, anew=anew)
    if hasattr(part, "build") and hasattr(part, "open"):
        return CachedStore(part, cache, anew=anew)
    if hasattr(part, "score"):
        return CachedScorer(part, cache, anew=anew)
    return part


class CachedEmbedder:
    """An embedder that embeds a text once per model and prompt; `fresh` counts the texts it really embedded."""

    def __init__(self, embedder: Embedder, cache: Cache, *, anew: bool = False) -> None:
        self.embedder, self.anew, self.fresh, self.reused = embedder, anew, 0, 0
        self._documents = Shards(cache, "vectors", f"document {identity(embedder)}")
        self._queries = Shards(cache, "vectors", f"query {identity(embedder)}")

    def identity(self) -> str:
        """That of the embedder."""
        return identity(self.embedder)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does."""
        return self._embed(texts, self._documents, self.embedder.embed_documents)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the embedder does."""
        return self._embed(texts, self._queries, self.embedder.embed_queries)

    def _embed(
        self, texts: Sequence[str], shards: Shards, embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        if not texts:
            return embed(texts)
        self.reused += len(set(texts))

        def make(missing: list[int]) -> npt.NDArray[np.float32]:
            self.fresh += len(missing)
            self.reused -= len(missing)
            made = embed([texts[i] for i in missing])
            # The count of cut tokens is kept as one more column: float32 is exact up to 16 million.
            return np.column_stack([made.values, made.cut.astype(np.float32)])

        rows = shards.get([text_key(text) for text in texts], make, anew=self.anew)
        return Vectors(np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int32))


class FreshQueries:
    """A cached embedder whose queries are embedded every time: what the latency pass times."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self.cached = embedder

    def identity(self) -> str:
        """That of the embedder."""
        return self.cached.identity()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """From the cache."""
        return self.cached.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """By the model."""
        return self.cached.embedder.embed_queries(texts)


class CachedStore:
    """A store that builds an index once per vectors and recipe."""

    def __init__(self, store: VectorStore, cache: Cache, *, anew: bool = False) -> None:
        self.store, self.cache, self.anew, self.fresh = store, cache, anew, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def identity(self) -> str:
        """That of the store."""
        return identity(self.store)

    def build(self, vectors: npt.NDArray[np.float32]) -> VectorIndex:
        """Open the index of these vectors, or build and keep it."""
        recipe = getattr(self.store, "build_identity", self.identity)()
        data = hashlib.blake2b(np.ascontiguousarray(vectors).data, digest_size=16).hexdigest()
        key = digest(recipe, data, repr(vectors.shape))
        with self.cache.lock("indexes", key):
            if not self.anew and (folder := self.cache.entry("indexes", key)):
                # What an earlier version has written may not open; it is made again.
                with contextlib.suppress(BenchError):
                    return self.store.open(folder)
            self.fresh += 1
            index = self.store.build(vectors)
            self.cache.put("indexes", key, index.save)
            return index


class CachedScorer:
    """A pair scorer that scores a pair once; `facts` says what was cut."""

    def __init__(self, scorer: PairScorer, cache: Cache, *, anew: bool = False) -> None:
        self.scorer, self.anew, self.fresh = scorer, anew, 0
        self._cut = np.zeros(0, np.int32)
        self._shards = Shards(cache, "pairs", identity(scorer))

    def identity(self) -> str:
        """That of the scorer."""
        return identity(self.scorer)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """As the scorer does."""
        if not queries:
            return self.scorer.score(queries, documents)

        def make(missing: list[int]) -> npt.NDArray[np.float32]:
            self.fresh += len(missing)
            made = self.scorer.score([queries[i] for i in missing], [documents[i] for i in missing])
            # A float64 score travels as the two float32 halves of its bytes, so that nothing is rounded.
            halves = np.ascontiguousarray(made.values, np.float64).view(np.float32).reshape(-1, 2)
            return np.column_stack([halves, made.cut.astype(np.float32)])

        keys = [text_key(query, doc) for query, doc in zip(queries, documents, strict=True)]
        rows = self._shards.get(keys, make, anew=self.anew)
        values = np.ascontiguousarray(rows[:, :2]).view(np.float64).ravel()
        self._cut = rows[:, 2].astype(np.int32)
        return PairScores(values, self._cut)

    def facts(self) -> dict[str, int]:
        """How many pairs were asked for last, how many of them were cut, and by how many tokens."""
        return {
            "pairs": len(self._cut),
            "pairs_cut": int((self._cut > 0).sum()),
            "tokens_cut": int(self._cut.sum()),
        }


class Shards:
    """Rows of float32 by the digest of the text they were made from, kept in files that are only added to."""

    def __init__(self, cache: Cache, kind: str, made_by: str) -> None:
        self.cache, self.kind, self.key = cache, kind, digest(made_by)
        self._keys = pa.array([], pa.binary(KEY_BYTES))
        self._values: list[npt.NDArray[np.float32]] = []
        self._read: set[str] = set()

    def get(self, texts: Sequence[bytes], make: Make, *, anew: bool = False) -> npt.NDArray[np.float32]:
        """The row of each text [n, width]; `make` is asked once, for the positions that no file holds.

        With `anew` it is asked for all of them.
        """
        asked = pa.array(texts, pa.binary(KEY_BYTES))
        with self.cache.lock(self.kind, self.key):
            self._load()
            known = pc.is_in(asked, value_set=self._keys).to_numpy(zero_copy_only=False)
            first = {text: i for i, text in reversed(list(enumerate(texts)))}
            missing = sorted(i for i in first.values() if anew or not known[i])
            if missing:
                self._add([texts[i] for i in missing], make(missing))
        return self._take(pc.index_in(asked, value_set=self._keys).to_numpy())

    def _load(self) -> None:
        folder = self.cache.folder / self.kind
        shards = folder.glob(f"{self.key}-*") if folder.is_dir() else ()
        for shard in sorted(shards, key=_written):
            if shard.name not in self._read and self.cache.entry(self.kind, shard.name):
                self._append(shard)

    def _append(self, shard: Path) -> None:
        keys = np.load(shard / "keys.npy")
        packed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(KEY_BYTES), len(keys), [None, pa.py_buffer(keys)]
        )
        # The newest first: of two rows of one text, the one that was made later is found.
        self._keys = pa.concat_arrays([packed, self._keys])
        self._values.insert(0, np.load(shard / "values.npy", mmap_mode="r"))
        self._read.add(shard.name)

    def _add(self, texts: list[bytes], made: npt.NDArray[np.float32]) -> None:
        def write(folder: Path) -> None:
            np.save(
                folder / "keys.npy", np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), KEY_BYTES)
            )
            np.save(folder / "values.npy", made)

        self._append(
            self.cache.put(self.kind, f"{self.key}-{digest(*(text.hex() for text in texts))}", write)
        )

    def _take(self, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.float32]:
        """The rows at these positions, counted through all files."""
        taken = np.empty((len(rows), self._values[0].shape[1]), np.float32)
        start = 0
        for values in self._values:
            here = (rows >= start) & (rows < start + len(values))
            taken[here] = values[rows[here] - start]
            start += len(values)
        return taken


def _written(shard: Path) -> tuple[int, str]:
    keys = shard / "keys.npy"
    return (keys.stat().st_mtime_ns if keys.exists() else 0, shard.name)


Make = Callable[[list[int]], npt.NDArray[np.float32]]
"""Makes the rows of the texts at these positions, [n, width]."""
KEY_BYTES = 16


def text_key(*texts: str) -> bytes:
    """The 16 bytes under which what was made from these texts is kept."""
    return bytes.fromhex(digest(*texts, length=2 * KEY_BYTES))
