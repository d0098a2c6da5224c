"""Parts with a cache around them: what they compute is computed once, and nothing in them knows."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.cache import Cache
from bench.embedders import Embedder, Vectors
from bench.errors import BenchError
from bench.identity import digest, identity
from bench.rerankers.pairs import PairScorer, PairScores
from bench.stores import VectorIndex, VectorStore


def cached(part: Any, cache: Cache) -> Any:
    """The part with a cache around it, where it is an embedder, a store or a pair scorer."""
    if hasattr(part, "embed_documents"):
        return CachedEmbedder(part, cache)
    if hasattr(part, "build") and hasattr(part, "open"):
        return CachedStore(part, cache)
    if hasattr(part, "score"):
        return CachedScorer(part, cache)
    return part


class CachedEmbedder:
    """An embedder that embeds a text once per model and prompt; `fresh` counts the texts it really embedded."""

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self.embedder, self.fresh, self.reused = embedder, 0, 0
        self._documents = Shards(cache, "vectors", f"document {embedder.identity()}")
        self._queries = Shards(cache, "vectors", f"query {embedder.identity()}")

    def identity(self) -> str:
        """That of the embedder."""
        return self.embedder.identity()

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
        self.reused += len(texts)

        def make(missing: list[int]) -> npt.NDArray[np.float32]:
            self.fresh += len(missing)
            self.reused -= len(missing)
            made = embed([texts[i] for i in missing])
            # The count of cut tokens is kept as one more column: float32 is exact up to 16 million.
            return np.column_stack([made.values, made.cut.astype(np.float32)])

        rows = shards.get([text_key(text) for text in texts], make)
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

    def __init__(self, store: VectorStore, cache: Cache) -> None:
        self.store, self.cache, self.fresh = store, cache, 0

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
            if folder := self.cache.entry("indexes", key):
                # What an earlier version has written may not open; it is made again.
                with contextlib.suppress(BenchError):
                    return self.store.open(folder)
            self.fresh += 1
            index = self.store.build(vectors)
            self.cache.put("indexes", key, index.save)
            return index


class CachedScorer:
    """A pair scorer that scores a pair once; `facts` says what was cut."""

    def __init__(self, scorer: PairScorer, cache: Cache) -> None:
        self.scorer, self.fresh = scorer, 0
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
        rows = self._shards.get(keys, make)
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
        self._rows: dict[bytes, npt.NDArray[np.float32]] | None = None
        self._read: set[str] = set()

    def get(
        self, texts: Sequence[bytes], make: Callable[[list[int]], npt.NDArray[np.float32]]
    ) -> npt.NDArray[np.float32]:
        """The row of each text [n, width]; `make` is asked once, for the positions that no file holds."""
        with self.cache.lock(self.kind, self.key):
            rows = self._load()
            first = {text: i for i, text in reversed(list(enumerate(texts)))}
            missing = sorted(i for text, i in first.items() if text not in rows)
            if missing:
                made = make(missing)
                self._add([texts[i] for i in missing], made)
        return np.stack([rows[text] for text in texts])

    def _load(self) -> dict[bytes, npt.NDArray[np.float32]]:
        if self._rows is None:
            self._rows = {}
        folder = self.cache.folder / self.kind
        shards = sorted(folder.glob(f"{self.key}-*")) if folder.is_dir() else []
        for shard in shards:
            if shard.name not in self._read and self.cache.entry(self.kind, shard.name):
                keys = np.load(shard / "keys.npy")
                values = np.load(shard / "values.npy", mmap_mode="r")
                self._rows.update((key.tobytes(), value) for key, value in zip(keys, values, strict=True))
                self._read.add(shard.name)
        return self._rows

    def _add(self, texts: list[bytes], made: npt.NDArray[np.float32]) -> None:
        def write(folder: Path) -> None:
            np.save(
                folder / "keys.npy", np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), KEY_BYTES)
            )
            np.save(folder / "values.npy", made)

        shard = self.cache.put(self.kind, f"{self.key}-{digest(*(text.hex() for text in texts))}", write)
        self._read.add(shard.name)
        assert self._rows is not None
        self._rows.update(zip(texts, made, strict=True))


KEY_BYTES = 16


def text_key(*texts: str) -> bytes:
    """The 16 bytes under which what was made from these texts is kept."""
    return bytes.fromhex(digest(*texts, length=2 * KEY_BYTES))
