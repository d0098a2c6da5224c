"""Any sentence-transformers model, by its name on the model hub or by a local folder."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bench.backends import check_backend, check_runs
from bench.embedders import Vectors
from bench.embedders.torch_model import Facts, Task, TorchModel, load
from bench.errors import BenchError, check_flag, check_whole
from bench.models import Model, check_computation

if TYPE_CHECKING:
    from bench.embedders.onnx_model import OnnxModel

SHORTEST_INPUT = 8
"""In tokens: of less nothing but the prompt would be read."""
_E5 = re.compile(r"(?<![a-z0-9])m?e5-(small|base|large)(?![a-z])(?!.*instruct)", re.IGNORECASE)
_INSTEAD = (
    "name a folder that holds it, or use embedder=e5_small or embedder=use_multilingual, which need no hub"
)


@dataclass(frozen=True, kw_only=True)
class SentenceTransformerEmbedder:
    """A sentence-transformers model.

    model: name on the Hugging Face hub, or a folder
    query_prompt, document_prompt: what stands before every text; None is what the model's own
        configuration says, "" is nothing
    max_length: longest input in tokens, prompt included; None is the model's own
    device: auto is the first GPU where there is one, else the CPU
    dtype: of the weights while computing; the vectors are float32 always
    batch_size: texts computed at once; texts of like length are put together
    revision: branch, tag or commit on the hub
    trust_remote_code: let the model bring code of its own
    backend: torch, or onnx for ONNX Runtime: on the CPU, in float32, nearer than 1e-4 to torch. The model is
        written for it once, into the user's cache, in about the size that it has
    """

    model: str
    query_prompt: str | None = None
    document_prompt: str | None = None
    max_length: int | None = None
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 32
    revision: str | None = None
    trust_remote_code: bool = False
    backend: str = "torch"

    def __post_init__(self) -> None:
        check_computation("embedder", device=self.device, dtype=self.dtype, batch_size=self.batch_size)
        check_backend("embedder", self.backend, device=self.device, dtype=self.dtype)
        if self.max_length is not None:
            check_whole("embedder.max_length", self.max_length, least=SHORTEST_INPUT)
        check_flag("embedder.trust_remote_code", self.trust_remote_code)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the document prompt."""
        return self._embed(texts, self.document_prompt, task="document")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the query prompt."""
        return self._embed(texts, self.query_prompt, task="query")

    def identity(self) -> str:
        """Name and weights (a folder's digest, a hub model's commit) and all that changes a vector."""
        settings = ("query_prompt", "document_prompt", "max_length", "dtype", "trust_remote_code", "backend")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"{type(self).__name__}(model={self._model.identity}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where the folder holds no model, the hub does not give it, or what runs it is missing."""
        self._model.check()
        check_runs("embedder", self.backend, device=self.device)

    @cached_property
    def _model(self) -> Model:
        return Model(name=self.model, revision=self.revision, setting="embedder.model", instead=_INSTEAD)

    def _embed(self, texts: Sequence[str], prompt: str | None, *, task: Task) -> Vectors:
        model = _loaded(
            self._model, self._model.identity, self.backend, self.device, self.dtype, self.trust_remote_code
        )
        if not texts:
            return Vectors(np.empty((0, model.facts.dimension), np.float32), np.empty(0, np.int32))
        longest = self._longest_input(model.facts)
        prompt = prompt_of(self.model, prompt, facts=model.facts, task=task)
        values = model.encode(texts, task=task, prompt=prompt, longest=longest, batch_size=self.batch_size)
        cut = np.zeros(len(texts), np.int32)
        if longest is not None:
            counts = model.token_counts([prompt + text for text in texts])
            cut = np.maximum(np.array(counts, np.int32) - longest, 0)
        return Vectors(values, cut)

    def _longest_input(self, facts: Facts) -> int | None:
        if self.max_length is None:
            return facts.longest_input
        if facts.longest_input is None:
            raise BenchError(f"embedder.max_length={self.max_length}: {self.model} reads texts of any length")
        if facts.positions is not None and self.max_length > facts.positions:
            raise BenchError(
                f"embedder.max_length={self.max_length}: {self.model} reads {facts.positions} tokens at most"
            )
        return self.max_length


def prompt_of(name: str, asked: str | None, *, facts: Facts, task: Task, group: str = "embedder") -> str:
    """The prompt that is asked for, else the model's own; `group` is that of the settings, for messages.

    BenchError for a model of the e5 family that declares none: it was trained with two, few of its
    configurations name them, and without them it finds less and nobody would know why.
    """
    if asked is not None:
        return asked
    if not facts.prompts and _E5.search(name):
        raise BenchError(
            f"{group}.model={name}: models of the e5 family read texts behind prompts, and this one's "
            f"configuration declares none: set {group}.query_prompt='query: ' "
            f"{group}.document_prompt='passage: ', or both to '' for none"
        )
    return facts.prompt(task)


# Two are kept: the two sides of a hybrid; a sweep over many models would otherwise fill the memory. What a
# folder holds is part of the key, so one trained anew is loaded anew.
@functools.lru_cache(maxsize=2)
def _loaded(
    model: Model, identity: str, backend: str, device: str, dtype: str, trust_remote_code: bool
) -> TorchModel | OnnxModel:
    if backend == "torch":
        return TorchModel(load(model, device=device, dtype=dtype, trust_remote_code=trust_remote_code))
    # Its library may be missing, and is asked for by this backend alone.
    from bench.embedders.onnx_model import onnx_model

    return onnx_model(model, identity, trust_remote_code=trust_remote_code)
