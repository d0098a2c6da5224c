"""A cross-encoder of sentence-transformers run by torch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError
from bench.models import Model, loading, torch_device
from bench.rerankers.pair_tokens import Features, pair_tokenizer, tokens_cut
from bench.rerankers.pairs import PairScores

# torch and transformers take seconds to import: they are imported where a model is loaded.


class TorchPairs:
    """A loaded CrossEncoder, its weights in float32.

    In a shorter dtype the products of matrices are computed in it and everything between them, sums over
    layers above all, in float32: on a trained model scores lie nearer to those of float32 than with short weights.
    """

    def __init__(self, model: Any, dtype: str) -> None:
        self._model, self._dtype = model.eval(), dtype
        self._tokenizer = pair_tokenizer(model)
        self.longest_input: int | None = model.max_seq_length
        if dtype != "float32":
            # The last layer would round 20.1 and 20.0 to one score.
            model.set_keep_in_fp32_modules(_heads(model))

    def score(
        self, queries: Sequence[str], documents: Sequence[str], *, longest: int, batch_tokens: int
    ) -> PairScores:
        """Logits of pairs of `longest` tokens at most."""
        import torch

        with torch.inference_mode(), precision(self._dtype, device=self._model.device.type):
            if self._tokenizer is None:
                return self._by_library(queries, documents, longest, batch_tokens)
            pairs = self._tokenizer.pairs(queries, documents, longest=longest)
            return pairs.scored(self._logits, batch_tokens=batch_tokens)

    def _logits(self, features: Features) -> npt.NDArray[np.float32]:
        import torch

        device = self._model.device
        logits = self._model({name: torch.from_numpy(values).to(device) for name, values in features.items()})
        values: npt.NDArray[np.float32] = logits["scores"].float().reshape(-1).cpu().numpy()
        return values

    def _by_library(
        self, queries: Sequence[str], documents: Sequence[str], longest: int, batch_tokens: int
    ) -> PairScores:
        """The same where more than a tokenizer makes the input of the model."""
        tokenizer, texts = self._model.tokenizer, list(dict.fromkeys([*queries, *documents]))
        encoded = tokenizer(texts, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        lengths = {text: len(tokens) for text, tokens in zip(texts, encoded, strict=True)}
        marks = tokenizer.num_special_tokens_to_add(pair=True)
        cut = tokens_cut(queries, documents, length_of=lengths, marks=marks, longest=longest)
        # The library cuts the longer of the two by default, which in a short chunk is the question.
        fit = {"text": {"truncation": "only_second", "max_length": longest}}
        logits = self._model.predict(
            list(zip(queries, documents, strict=True)),
            batch_size=max(1, batch_tokens // longest),
            show_progress_bar=False,
            processing_kwargs=fit,
        )
        return PairScores(logits.astype(np.float64), cut)


def load(source: Model, *, device: str, trust_remote_code: bool, attention: str | None = None) -> Any:
    """The CrossEncoder, in float32; Unavailable where its files cannot be had or read.

    BenchError where it gives more than one score. attention: an implementation in the words of transformers;
    None is its own choice.
    """
    folder = source.folder
    from sentence_transformers import CrossEncoder
    from torch import nn

    with loading(source):
        model = CrossEncoder(
            str(folder),
            device=torch_device(device),
            trust_remote_code=trust_remote_code,
            local_files_only=not trust_remote_code,  # such code may live in another repository of the hub
            model_kwargs={"dtype": "float32", **({"attn_implementation": attention} if attention else {})},
            activation_fn=nn.Identity(),
        )
    if model.num_labels != 1:
        raise BenchError(
            f"{source.setting}={source.name} gives {model.num_labels} scores a pair; a reranker gives one"
        )
    return model


def precision(dtype: str, *, device: str) -> AbstractContextManager[Any]:
    """Where matrices are multiplied in this dtype, and all between them in float32."""
    import torch

    if dtype == "float32":
        return nullcontext()
    shorter: AbstractContextManager[Any] = torch.autocast(device, getattr(torch, dtype))
    return shorter


def _heads(model: Any) -> list[str]:
    from torch import nn

    return [
        name for name, layer in model.named_modules() if type(layer) is nn.Linear and layer.out_features == 1
    ]
