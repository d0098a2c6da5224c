"""Vectors that are a pure function of the text: for tests and trials, not for results."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.embedders import Vectors
from bench.errors import check_whole

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Hashing:
    """Words and the character trigrams inside them, hashed with a sign (Weinberger et al., 2009), length 1.

    The same on every machine and in every process. A text without a word is the zero vector.

    dim: length of a vector
    seed: another seed puts the words in other places
    """

    dim: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("embedder.dim", self.dim, least=1)
        check_whole("embedder.seed", self.seed, least=0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        values = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            values[row] = self._vector(text)
        return Vectors(values, np.zeros(len(texts), np.int32))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as for documents."""
        return self.embed_documents(texts)

    def identity(self) -> str:
        """Everything that changes a vector."""
        return f"Hashing(dim={self.dim}, seed={self.seed})"

    def _vector(self, text: str) -> npt.NDArray[np.float64]:
        counts = np.zeros(self.dim)
        key = str(self.seed).encode()
        for feature in _features(text):
            state = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8, key=key)
            place, sign = divmod(int.from_bytes(state.digest(), "little"), 2)
            counts[place % self.dim] += 1 if sign else -1
        length = np.sqrt(counts @ counts)
        return counts / length if length else counts


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(unicodedata.normalize("NFC", text.casefold())):
        yield word
        # A blank stands at each end, so no trigram equals a word.
        padded = f" {word} "
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))
