"""Any sentence-transformers model, by its name on the model hub or by a local folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.embedders import Vectors
from bench.errors import BenchError
from bench.models import Model, check_computation, check_device, loading, torch_device

_QUERY = ("query",)
_DOCUMENT = ("document", "passage", "corpus")
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

    def __post_init__(self) -> None:
        check_computation("embedder", device=self.device, dtype=self.dtype, batch_size=self.batch_size)
        if self.max_length is not None and self.max_length < 8:
            raise BenchError(f"embedder.max_length={self.max_length}: must be 8 tokens or more")

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the document prompt."""
        return self._embed(texts, self.document_prompt, named=_DOCUMENT)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, behind the query prompt."""
        return self._embed(texts, self.query_prompt, named=_QUERY)

    def identity(self) -> str:
        """Name and weights (a folder's digest, a hub model's commit) and all that changes a vector."""
        settings = ("query_prompt", "document_prompt", "max_length", "dtype", "trust_remote_code")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"{type(self).__name__}(model={self._model.identity}, {fields})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where the folder holds no model, the hub does not give it, or there is no GPU."""
        self._model.check()
        check_device("embedder", self.device)

    @cached_property
    def _model(self) -> Model:
        return Model(name=self.model, revision=self.revision, setting="embedder.model", instead=_INSTEAD)

    def _embed(self, texts: Sequence[str], prompt: str | None, *, named: Sequence[str]) -> Vectors:
        model = _loaded(self._model, self._model.identity, self.device, self.dtype, self.trust_remote_code)
        if not texts:
            return Vectors(np.empty((0, model.get_embedding_dimension()), np.float32), np.empty(0, np.int32))
        longest = self._longest_input(model)
        prompt = _own_prompt(model, named) if prompt is None else prompt
        encode = model.encode_query if named is _QUERY else model.encode_document
        values = encode(
            list(texts),
            prompt=prompt,
            batch_size=self.batch_size,
            show_progress_bar=False,
            processing_kwargs={"text": {"max_length": longest}} if self.max_length else None,
        )
        return Vectors(
            np.asarray(values, np.float32), _cut(model, [prompt + text for text in texts], longest)
        )

    def _longest_input(self, model: Any) -> float:
        own = float("inf") if model.max_seq_length is None else model.max_seq_length
        if self.max_length is None:
            return own
        if own == float("inf"):
            raise BenchError(f"embedder.max_length={self.max_length}: {self.model} reads texts of any length")
        possible = getattr(model.config, "max_position_embeddings", None)
        if possible is not None and self.max_length > possible:
            raise BenchError(
                f"embedder.max_length={self.max_length}: {self.model} reads {possible} tokens at most"
            )
        return self.max_length


# Two are kept: the two sides of a hybrid; a sweep over many models would otherwise fill the memory. What a
# folder holds is part of the key, so one trained anew is loaded anew.
@functools.lru_cache(maxsize=2)
def _loaded(model: Model, _identity: str, device: str, dtype: str, trust_remote_code: bool) -> Any:
    folder = model.folder
    # Loads torch and transformers, seconds of it: only when a text is really embedded.
    from sentence_transformers import SentenceTransformer

    with loading(model):
        return SentenceTransformer(
            str(folder),
            device=torch_device(device),
            trust_remote_code=trust_remote_code,
            local_files_only=not trust_remote_code,  # such code may live in another repository of the hub
            model_kwargs={"dtype": dtype},
        )


def _own_prompt(model: Any, named: Sequence[str]) -> str:
    """The prompt that the model itself would choose for this task; counted too, so known here."""
    for name in (*named, model.default_prompt_name):
        if name in model.prompts:
            return str(model.prompts[name])
    return ""


def _cut(model: Any, prompted: list[str], longest: float) -> npt.NDArray[np.int32]:
    if longest == float("inf"):
        return np.zeros(len(prompted), np.int32)
    # verbose=False: the tokenizer would warn of the very texts that are counted here.
    tokens = model.tokenizer(prompted, truncation=False, return_attention_mask=False, verbose=False)[
        "input_ids"
    ]
    return np.array([max(0, len(ids) - longest) for ids in tokens], np.int32)
