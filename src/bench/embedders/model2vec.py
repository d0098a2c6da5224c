"""Static embeddings in the form of model2vec: a table of token vectors, averaged; no transformer, no torch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError

from bench.embedders import Vectors
from bench.errors import Unavailable, check_whole, missing_library
from bench.models import Model

try:
    from model2vec import StaticModel
except ImportError as error:
    raise missing_library("model2vec", extra="model2vec") from error

_INSTEAD = (
    "name a folder that holds it, or use embedder=use_multilingual or embedder=e5_small, which need no hub"
)


@dataclass(frozen=True, kw_only=True)
class Model2Vec:
    """A static model (Tulkens and van Dongen, 2024): hundreds of times the speed of a transformer on a CPU.

    It has no prompts. The order of words is lost, and a text of unknown words alone is the zero vector.

    model: name on the Hugging Face hub, or a folder
    max_length: longest input in tokens; None is the model's own
    revision: branch, tag or commit on the hub
    """

    model: str
    max_length: int | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        if self.max_length is not None:
            check_whole("embedder.max_length", self.max_length, least=1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        model = _loaded(self._model, self._model.identity)
        if not texts:
            return Vectors(np.empty((0, model.dim), np.float32), np.empty(0, np.int32))
        longest = model.max_length if self.max_length is None else self.max_length
        # Its own threads beyond ten thousand texts would change settings of the whole process.
        values = model.encode(list(texts), max_length=longest, use_multiprocessing=False)
        return Vectors(np.asarray(values, np.float32), _cut(model, texts, longest))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same as for documents."""
        return self.embed_documents(texts)

    def identity(self) -> str:
        """Name and weights (a folder's digest, a hub model's commit) and the longest input."""
        return f"Model2Vec(model={self._model.identity}, max_length={self.max_length})"

    def check(self, documents: int) -> None:  # noqa: ARG002 (any number of documents will do)
        """Unavailable where the folder holds no model or the hub does not give it."""
        self._model.check()

    @cached_property
    def _model(self) -> Model:
        return Model(name=self.model, revision=self.revision, setting="embedder.model", instead=_INSTEAD)


@functools.lru_cache(maxsize=2)
def _loaded(model: Model, _identity: str) -> StaticModel:
    try:
        return StaticModel.from_pretrained(model.folder, force_download=False)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise Unavailable(f"embedder.model={model.name} cannot be loaded: {error}") from error


def _cut(model: StaticModel, texts: Sequence[str], longest: int | None) -> npt.NDArray[np.int32]:
    if longest is None:
        return np.zeros(len(texts), np.int32)
    # model2vec shortens a text by characters before it counts tokens.
    characters = longest * model.median_token_length
    model.tokenizer.no_truncation()
    whole, kept = (
        [len(one.ids) for one in model.tokenizer.encode_batch_fast(some, add_special_tokens=False)]
        for some in (list(texts), [text[:characters] for text in texts])
    )
    # A word that is cut in two may have more tokens than the whole.
    return np.maximum(np.array(whole, np.int32) - np.minimum(np.array(kept, np.int32), longest), 0)
