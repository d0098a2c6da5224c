"""Embedders: texts in, vectors out. An embedder knows its prompts, its longest input and what it cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors of some texts, in their order."""

    values: npt.NDArray[np.float32]
    """float32 [n, dim], as the model gives them: normalising is the dense retriever's."""
    cut: npt.NDArray[np.int32]
    """How many tokens of each text lay beyond the model's longest input and were not read, int32 [n]."""

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != len(self.cut):
            raise ValueError(f"vectors {self.values.shape} for {len(self.cut)} texts")


class Embedder(Protocol):
    """Turns documents and queries into vectors whose inner product says how near they are."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, with the document prompt of the model."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, with the query prompt of the model."""

    def identity(self) -> str:
        """Model by name and digest of its weights, and every setting that changes a vector; never a path."""
