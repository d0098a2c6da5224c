"""A sentence-transformers model run by torch, and what such a model says of itself, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bench.models import Model, loading, torch_device

Array = npt.NDArray[np.float32]
Task = Literal["query", "document"]

_NAMES: Mapping[Task, Sequence[str]] = {"query": ("query",), "document": ("document", "passage", "corpus")}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a model says of itself.

    dimension: length of a vector
    longest_input: in tokens; None is any length
    positions: the most tokens that it could read; None where it does not say
    prompts, default_prompt_name: what it puts before texts, by task
    """

    dimension: int
    longest_input: int | None
    positions: int | None
    prompts: Mapping[str, str]
    default_prompt_name: str | None

    def prompt(self, task: Task) -> str:
        """The prompt that the model itself would choose."""
        names = (*_NAMES[task], self.default_prompt_name or "")
        return next((self.prompts[name] for name in names if name in self.prompts), "")


class TorchModel:
    """A loaded SentenceTransformer."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.facts = facts_of(model)

    def encode(
        self, texts: Sequence[str], *, task: Task, prompt: str, longest: int | None, batch_size: int
    ) -> Array:
        """Vectors of the texts behind the prompt, float32 [n, dimension]; no token beyond `longest` is read."""
        encode = self._model.encode_query if task == "query" else self._model.encode_document
        values = encode(
            list(texts),
            prompt=prompt,
            batch_size=batch_size,
            show_progress_bar=False,
            processing_kwargs=None if longest is None else {"text": {"max_length": longest}},
        )
        return np.asarray(values, np.float32)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, before any is cut."""
        # verbose=False: the tokenizer would warn of the very texts that are counted here.
        tokens = self._model.tokenizer(
            list(texts), truncation=False, return_attention_mask=False, verbose=False
        )
        return [len(ids) for ids in tokens["input_ids"]]


def load(
    model: Model, *, device: str, dtype: str, trust_remote_code: bool, attention: str | None = None
) -> Any:
    """The SentenceTransformer; Unavailable where its files cannot be had or read.

    attention: an implementation in the words of transformers; None is its own choice
    """
    folder = model.folder
    # Loads torch and transformers, seconds of it: only when a text is really embedded.
    from sentence_transformers import SentenceTransformer

    with loading(model):
        return SentenceTransformer(
            str(folder),
            device=torch_device(device),
            trust_remote_code=trust_remote_code,
            local_files_only=not trust_remote_code,  # such code may live in another repository of the hub
            model_kwargs={"dtype": dtype, **({"attn_implementation": attention} if attention else {})},
        )


def facts_of(model: Any) -> Facts:
    """What a SentenceTransformer says of itself."""
    longest = model.max_seq_length
    return Facts(
        dimension=model.get_embedding_dimension(),
        longest_input=None if longest in (None, float("inf")) else int(longest),
        positions=getattr(model.config, "max_position_embeddings", None),
        # The library adds empty ones for the tasks that a configuration does not name.
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt},
        default_prompt_name=model.default_prompt_name,
    )
