"""Cross-encoders: a transformer reads query and document together and gives one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError, did_you_mean
from bench.models import Model, check_computation, check_device, loading, torch_device
from bench.rerankers.pairs import PairScores

ACTIVATIONS = ("none", "sigmoid")
_INSTEAD = "reranker=overlap needs no model; cross_encoder.model also takes a folder that holds one"


@dataclass(frozen=True, kw_only=True)
class CrossEncoderScorer:
    """Any one-score CrossEncoder of sentence-transformers, by hub name or folder (Nogueira and Cho 2019).

    `max_length` counts tokens of the whole pair and is lowered to what the model can read. Only the document
    is cut to fit. Scores are logits; `activation=sigmoid` maps them to 0..1 in double precision, which keeps
    their order up to about 36. `device` auto is the first GPU where there is one, else the CPU.
    """

    model: str
    max_length: int = 512
    batch_size: int = 32
    device: str = "auto"
    dtype: str = "float32"
    activation: str = "none"
    revision: str | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        check_computation("cross_encoder", device=self.device, dtype=self.dtype, batch_size=self.batch_size)
        if self.activation not in ACTIVATIONS:
            known = did_you_mean(str(self.activation), ACTIVATIONS)
            raise BenchError(f"cross_encoder.activation={self.activation!r}{known}")
        if type(self.max_length) is not int or self.max_length < 1:
            raise BenchError(f"cross_encoder.max_length={self.max_length!r}: a whole number from 1")

    def identity(self) -> str:
        """The model (a folder's digest, a hub model's commit) and all that changes a score, so no batch size."""
        settings = ("max_length", "dtype", "activation", "trust_remote_code")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"CrossEncoderScorer(model={self._model.identity}, {fields})"

    def check(self, _documents: int) -> None:
        """Unavailable unless the model is here or the hub has it, or where there is no GPU."""
        self._model.check()
        check_device("cross_encoder", self.device)

    @cached_property
    def _model(self) -> Model:
        return Model(name=self.model, revision=self.revision, setting="cross_encoder.model", instead=_INSTEAD)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """One logit a pair; BenchError where a query leaves no room for a document."""
        if not queries:
            return PairScores(np.zeros(0), np.zeros(0, np.int32))
        model = _loaded(self._model, self._model.identity, self.device, self.dtype, self.trust_remote_code)
        longest = min(self.max_length, model.max_seq_length or self.max_length)
        cut = _tokens_cut(model.tokenizer, queries, documents, longest)
        # The library cuts the longer of the two by default, which in a short chunk is the question.
        fit = {"text": {"truncation": "only_second", "max_length": longest}}
        logits = model.predict(
            list(zip(queries, documents, strict=True)),
            batch_size=self.batch_size,
            show_progress_bar=False,
            processing_kwargs=fit,
        ).astype(np.float64)
        return PairScores(_sigmoid(logits) if self.activation == "sigmoid" else logits, cut)


# What a folder holds is part of the key, so one trained anew is loaded anew.
@lru_cache(maxsize=2)
def _loaded(source: Model, _identity: str, device: str, dtype: str, trust_remote_code: bool) -> Any:
    folder = source.folder
    # Loads torch and transformers, seconds of it: only when a pair is really scored.
    from sentence_transformers import CrossEncoder
    from torch import nn

    with loading(source):
        model = CrossEncoder(
            str(folder),
            device=torch_device(device),
            trust_remote_code=trust_remote_code,
            local_files_only=not trust_remote_code,  # such code may live in another repository of the hub
            model_kwargs={"dtype": dtype},
            activation_fn=nn.Identity(),
        )
    if model.num_labels != 1:
        raise BenchError(
            f"cross_encoder.model={source.name} gives {model.num_labels} scores a pair; a reranker gives one"
        )
    # In half precision the last layer would round 20.1 and 20.0 to one score.
    heads = [
        name for name, layer in model.named_modules() if type(layer) is nn.Linear and layer.out_features == 1
    ]
    model.set_keep_in_fp32_modules(heads if dtype != "float32" else [])
    return model


def _tokens_cut(
    tokenizer: Any, queries: Sequence[str], documents: Sequence[str], longest: int
) -> npt.NDArray[np.int32]:
    """Tokens of each pair beyond `longest`, int32 [n]; BenchError where a query alone reaches it."""
    length_of = _token_counts(tokenizer, [*queries, *documents])
    marks = tokenizer.num_special_tokens_to_add(pair=True)
    of_query = np.array([length_of[query] + marks for query in queries])
    if of_query.max() >= longest:
        query = queries[int(of_query.argmax())]
        raise BenchError(
            f"a query of {of_query.max()} tokens leaves no room for a document in {longest}, and queries "
            f"are never cut: {query[:60]!r}… Raise cross_encoder.max_length or take a larger model"
        )
    beyond = of_query + np.array([length_of[document] for document in documents]) - longest
    cut: npt.NDArray[np.int32] = np.maximum(beyond, 0).astype(np.int32)
    return cut


def _token_counts(tokenizer: Any, texts: Sequence[str]) -> dict[str, int]:
    distinct = list(dict.fromkeys(texts))
    encoded = tokenizer(distinct, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
    return {text: len(tokens) for text, tokens in zip(distinct, encoded, strict=True)}


def _sigmoid(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return 1 / (1 + np.exp(-logits))
