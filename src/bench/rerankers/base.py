"""The encoder that a cross-encoder is trained from, and how a pair is read by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.embedders.torch_model import facts_of, load
from bench.errors import BenchError, check_whole
from bench.models import Model
from bench.packaged.e5_small import IDENTITY, PACKAGED, data_file, e5_small_folder

_MEANS = ("mean", "mean_sqrt_len_tokens")
"""How a vector may be pooled: the two differ in length alone, and vectors are brought to length 1."""


@dataclass(frozen=True, kw_only=True)
class Base:
    """An embedding model by `e5_small`, name on the hub or folder; see `delayed` for what is made of it.

    together: how many of its layers, from the top, read question and document together
    longest: tokens of one text, prompt included
    """

    name: str = PACKAGED
    revision: str | None = None
    together: int = 4
    longest: int = 256

    def __post_init__(self) -> None:
        check_whole("train.together", self.together, least=1)
        check_whole("train.longest", self.longest, least=16)

    def facts(self) -> dict[str, Any]:
        """Its settings, for the record."""
        return {name: getattr(self, name) for name in ("name", "revision", "together", "longest")}

    def identity(self) -> str:
        """The model by its weights and how pairs are read, never by a path."""
        model = IDENTITY if self.name == PACKAGED else self._model.identity
        return f"{model}, together={self.together}, longest={self.longest}"

    def check(self) -> None:
        """Unavailable where the model cannot be had."""
        if self.name == PACKAGED:
            data_file()
        else:
            self._model.check()

    def cross_encoder(self, *, device: str) -> Any:
        """The base as a CrossEncoder of sentence-transformers that has learned nothing yet, in float32.

        BenchError where it is no encoder in the form of BERT.
        """
        # Loads torch and transformers, seconds of it.
        from sentence_transformers import CrossEncoder
        from torch import nn

        from bench.rerankers.delayed import DelayedInteraction

        loaded = load(self._model, device="cpu", dtype="float32", trust_remote_code=False, attention="sdpa")
        encoder, facts = getattr(loaded[0], "auto_model", None), facts_of(loaded)
        layers = getattr(getattr(encoder, "encoder", None), "layer", None)
        if layers is None or not hasattr(encoder, "embeddings"):
            raise BenchError(
                f"train.base={self.name} is no encoder in the form of BERT, whose layers can be taken apart; "
                f"train.base={PACKAGED} is one, and so are e5, MiniLM and bge-small"
            )
        if self.together > len(layers):
            raise BenchError(f"train.together={self.together}: {self.name} has {len(layers)} layers")
        module = DelayedInteraction(
            encoder,
            loaded.tokenizer,
            together=self.together,
            first_token=self._first_token(loaded),
            prompts=(facts.prompt("query"), facts.prompt("document")),
            longest=min(self.longest, facts.longest_input or self.longest),
        )
        return CrossEncoder(modules=[module], num_labels=1, device=device, activation_fn=nn.Identity())

    def _first_token(self, loaded: Any) -> bool:
        """Whether a vector is that of the first token and not the mean; BenchError where it is something else."""
        pooling, *further = list(loaded)[1:] or [None]
        mode = getattr(pooling, "pooling_mode", None)
        odd = [type(module).__name__ for module in further if type(module).__name__ != "Normalize"]
        if mode not in ("cls", *_MEANS) or not getattr(pooling, "include_prompt", True) or odd:
            made_by = odd[0] if odd else f"{type(pooling).__name__} ({mode})"
            raise BenchError(
                f"train.base={self.name} makes its vectors by {made_by}; a base takes the mean over all tokens or the "
                f"first of them, as train.base={PACKAGED} does"
            )
        return bool(mode == "cls")

    @property
    def _model(self) -> Model:
        name = str(e5_small_folder()) if self.name == PACKAGED else self.name
        instead = f"train.base={PACKAGED} comes in a package"
        return Model(name=name, revision=self.revision, setting="train.base", instead=instead)
