"""The vectors that a sentence-transformers model gives to the tokens of a text, before it pools them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.embedders.torch_model import Task, TorchModel, load
from bench.errors import BenchError
from bench.models import Model

Array = npt.NDArray[np.float32]


class TokenModel:
    """A loaded SentenceTransformer, asked for the vectors of tokens."""

    def __init__(self, model: Any) -> None:
        self._model = model
        texts = TorchModel(model)
        self.facts, self.token_counts = texts.facts, texts.token_counts

    def batches(
        self, texts: Sequence[str], *, task: Task, prompt: str, longest: int, batch_size: int
    ) -> Iterator[tuple[list[int], list[Array]]]:
        """The places of some texts and the vectors of each, float32 [tokens, dimension] of length 1, batch by batch.

        A token counts where a character of the text stands in it: those of the prompt, special ones that the
        tokenizer adds and padding are left out. No token beyond `longest` is read.
        """
        # Texts of like length together: little is padded.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            yield places, self._vectors([texts[place] for place in places], task, prompt, longest)

    def _vectors(self, texts: list[str], task: Task, prompt: str, longest: int) -> list[Array]:
        import torch
        from sentence_transformers.util import batch_to_device

        read = {"text": {"max_length": longest, "return_offsets_mapping": True}}
        features = self._model.preprocess(texts, prompt=prompt, task=task, processing_kwargs=read)
        # Where tokens end in prompt and text together; 0 for those that stand in neither.
        own = features.pop("offset_mapping")[:, :, 1] > len(prompt)
        with torch.inference_mode():
            computed = self._model(batch_to_device(features, self._model.device), task=task)
            vectors = torch.nn.functional.normalize(computed["token_embeddings"].float(), dim=-1).cpu()
        return [np.asarray(text[kept]) for text, kept in zip(vectors, own, strict=True)]


def token_model(model: Model, *, device: str, dtype: str, trust_remote_code: bool) -> TokenModel:
    """The loaded model.

    BenchError where it has no vectors of tokens, or was trained to compare them by rules of its own;
    Unavailable where its files cannot be had or read.
    """
    _refuse_other_kinds(model)
    loaded = load(model, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    if not getattr(loaded.tokenizer, "is_fast", False):
        raise BenchError(
            f"{model.setting}={model.name}: late interaction reads a transformer whose tokenizer tells where "
            f"in a text its tokens stand, and this model has none; {model.instead}"
        )
    return TokenModel(loaded)


def _refuse_other_kinds(model: Model) -> None:
    """A loader would take a model of another kind without the layers that made its token vectors."""
    file = model.folder / "config_sentence_transformers.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    kind = known.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise BenchError(
            f"{model.setting}={model.name}: it is a {kind}, whose token vectors are made by layers and rules of "
            f"its own; a SentenceTransformer is read here; {model.instead}"
        )
