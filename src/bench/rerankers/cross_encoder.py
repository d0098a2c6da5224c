"""Cross-encoders: a transformer reads query and document together and gives one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bench.backends import check_backend, check_runs, dtype_here
from bench.errors import BenchError, Unavailable, check_one_of, check_whole, did_you_mean
from bench.models import DEVICES, DTYPES, Model
from bench.rerankers.adapter import Adapter
from bench.rerankers.cross_fit import CrossFit
from bench.rerankers.pairs import PairScores
from bench.rerankers.torch_pairs import TorchPairs, load


class Loaded(Protocol):
    """A model that is ready to score."""

    longest_input: int | None
    """The longest that it reads, in tokens."""

    def score(
        self, queries: Sequence[str], documents: Sequence[str], *, longest: int, batch_tokens: int
    ) -> PairScores:
        """One logit a pair, read to at most `longest` tokens, so many tokens computed at once."""


Source = Model | Adapter | CrossFit
"""Where a model comes from."""

ACTIVATIONS = ("none", "sigmoid")
_INSTEAD = (
    "reranker=overlap needs no model, the default of cross_encoder.model comes with the program, and "
    "cross_encoder.model also takes a folder that holds one (train your own: python -m bench train reranker)"
)


@dataclass(frozen=True, kw_only=True)
class CrossEncoderScorer:
    """Any one-score CrossEncoder of sentence-transformers, by hub name or folder (Nogueira and Cho 2019).

    A folder may also hold what `python -m bench train reranker` has written: an adapter, or several that are
    cross-fitted. Those read texts of the length that they were trained with, and torch computes them.

    max_length: tokens of the whole pair, lowered to what the model can read. Only the document is cut to fit
    batch_tokens: tokens computed at once, padding counted; pairs of like length are put together
    device: auto is the first GPU where there is one, else the CPU
    dtype: in which matrices are multiplied; the weights are float32 always. auto is bfloat16 where this machine
        has instructions for it, else float32
    activation: none gives logits; sigmoid maps them to 0..1 in double precision, which keeps their order up to
        about 36
    revision: branch, tag or commit on the hub
    trust_remote_code: let the model bring code of its own
    backend: torch, or onnx for ONNX Runtime: on the CPU, in float32, nearer than 1e-4 to torch. The model is
        written for it once, into the user's cache, in about the size that it has
    """

    model: str
    max_length: int = 512
    batch_tokens: int = 4096
    device: str = "auto"
    dtype: str = "float32"
    activation: str = "none"
    revision: str | None = None
    trust_remote_code: bool = False
    backend: str = "torch"

    def __post_init__(self) -> None:
        check_one_of("cross_encoder.device", self.device, DEVICES)
        check_one_of("cross_encoder.dtype", self.dtype, (*DTYPES, "auto"))
        check_backend("cross_encoder", self.backend, device=self.device, dtype=self.dtype)
        if self.activation not in ACTIVATIONS:
            known = did_you_mean(str(self.activation), ACTIVATIONS)
            raise BenchError(f"cross_encoder.activation={self.activation!r}{known}")
        check_whole("cross_encoder.max_length", self.max_length, least=1)
        check_whole("cross_encoder.batch_tokens", self.batch_tokens, least=1)

    def identity(self) -> str:
        """The model (a folder's digest, a hub model's commit) and all that changes a score, so no batch size.

        The dtype is the one that `auto` is here: two machines that compute differently are two systems.
        """
        settings = ("max_length", "activation", "trust_remote_code", "backend")
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in settings)
        return f"CrossEncoderScorer(model={self._source.identity}, dtype={self._dtype!r}, {fields})"

    def check(self, _documents: int) -> None:
        """Unavailable unless the model is here or the hub has it, or where what runs it is missing."""
        self._source.check()
        if self.backend != "torch" and not isinstance(self._source, Model):
            raise Unavailable(
                f"cross_encoder.backend={self.backend} runs whole models; for {self.model}, which is trained over a "
                "base, cross_encoder.backend=torch"
            )
        check_runs("cross_encoder", self.backend, device=self.device)

    @cached_property
    def _source(self) -> Source:
        folder = Path(self.model).expanduser()
        for kind in (Adapter, CrossFit):
            if kind.stands_in(folder):
                return kind(folder=folder, setting="cross_encoder.model")
        return Model(name=self.model, revision=self.revision, setting="cross_encoder.model", instead=_INSTEAD)

    @cached_property
    def _dtype(self) -> str:
        return dtype_here(self.dtype, device=self.device, backend=self.backend)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """One logit a pair; BenchError where a query leaves no room for a document."""
        if not queries:
            return PairScores(np.zeros(0), np.zeros(0, np.int32))
        source = self._source
        model = _loaded(
            source, source.identity, self.backend, self.device, self._dtype, self.trust_remote_code
        )
        longest = min(self.max_length, model.longest_input or self.max_length)
        scores = model.score(queries, documents, longest=longest, batch_tokens=self.batch_tokens)
        return PairScores(_sigmoid(scores.values), scores.cut) if self.activation == "sigmoid" else scores


# What a folder holds is part of the key, so one trained anew is loaded anew.
@lru_cache(maxsize=2)
def _loaded(
    source: Source, identity: str, backend: str, device: str, dtype: str, trust_remote_code: bool
) -> Loaded:
    if not isinstance(source, Model):
        return source.loaded(device=device, dtype=dtype)
    if backend == "torch":
        return TorchPairs(load(source, device=device, trust_remote_code=trust_remote_code), dtype)
    # Its library may be missing, and is asked for by this backend alone.
    from bench.rerankers.onnx_pairs import onnx_pairs

    return onnx_pairs(source, identity, trust_remote_code=trust_remote_code)


def _sigmoid(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return 1 / (1 + np.exp(-logits))
