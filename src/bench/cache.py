"""Work done once: vectors, indexes, pair scores and first-stage runs, by what they were made from.

Everything is written beside and renamed, every entry carries the digest of its bytes, and a lock keeps two
jobs from making the same thing at the same time; a damaged entry is dropped and made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from bench.embedders import Embedder, Vectors
from bench.identity import digest, identity
from bench.rerankers.pairs import PairScorer, PairScores
from bench.stores import VectorIndex, VectorStore


@dataclass(frozen=True)
class Cache:
    """A folder of content-addressed entries: `<kind>/<key>/`."""

    folder: Path

    @contextmanager
    def lock(self, kind: str, key: str) -> Iterator[None]:
        """Hold an entry while it is looked for and made."""
        locks = self.folder / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{kind}-{key}.lock"):
            yield

    def entry(self, kind: str, key: str) -> Path | None:
        """The folder of a whole entry; a damaged one is dropped."""
        folder = self.folder / kind / key
        if not folder.is_dir():
            return None
        if _seal_of(folder) == _seal(folder):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def put(self, kind: str, key: str, write: Callable[[Path], None]) -> Path:
        """Let `write` fill a new folder, seal it and put it in its place at once."""
        target = self.folder / kind / key
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=target.parent))
        try:
            write(made)
            (made / SEAL).write_text(json.dumps(_seal(made)))
            if target.exists():
                shutil.rmtree(target)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return target

    def sizes(self) -> dict[str, tuple[int, int]]:
        """By kind: how many entries and bytes."""
        kinds = sorted(path for path in self.folder.iterdir() if path.is_dir()) if self.folder.is_dir() else []
        return {
            kind.name: (
                sum(1 for entry in kind.iterdir() if not entry.name.startswith(".")),
                sum(path.stat().st_size for path in kind.rglob("*") if path.is_file()),
            )
            for kind in kinds
            if kind.name != "locks"
        }


def default_folder() -> Path:
    """`$BENCH_CACHE`, else `bench` in the user's cache folder."""
    if named := os.environ.get("BENCH_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bench"


SEAL = "seal.json"


def _seal(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != SEAL
    }


def _seal_of(folder: Path) -> dict[str, str] | None:
    try:
        seal: dict[str, str] = json.loads((folder / SEAL).read_text())
    except (OSError, ValueError):
        return None
    return seal


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
            np.save(folder / "keys.npy", np.frombuffer(b"".join(texts), np.uint8).reshape(len(texts), KEY_BYTES))
            np.save(folder / "values.npy", made)

        shard = self.cache.put(self.kind, f"{self.key}-{digest(*(text.hex() for text in texts))}", write)
        self._read.add(shard.name)
        assert self._rows is not None
        self._rows.update(zip(texts, made, strict=True))


KEY_BYTES = 16


def text_key(*texts: str) -> bytes:
    """The 16 bytes under which what was made from these texts is kept."""
    return bytes.fromhex(digest(*texts, length=2 * KEY_BYTES))


class CachedEmbedder:
    """An embedder that embeds a text once per model and prompt; `fresh` counts the texts it really embedded."""

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self.embedder, self.fresh, self.kept = embedder, 0, 0
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

    def _embed(self, texts: Sequence[str], shards: Shards, embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        if not texts:
            return embed(texts)

        def make(missing: list[int]) -> npt.NDArray[np.float32]:
            self.fresh += len(missing)
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
                return self.store.open(folder)
            self.fresh += 1
            index = self.store.build(vectors)
            self.cache.put("indexes", key, index.save)
            return index


class CachedScorer:
    """A pair scorer that scores a pair once; remembers how much of the pairs it was asked for was cut."""

    def __init__(self, scorer: PairScorer, cache: Cache) -> None:
        self.scorer, self.fresh, self.pairs_cut, self.tokens_cut = scorer, 0, 0, 0
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
        cut = rows[:, 2].astype(np.int32)
        self.pairs_cut, self.tokens_cut = int((cut > 0).sum()), int(cut.sum())
        return PairScores(values, cut)
