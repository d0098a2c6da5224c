"""A cross-encoder run by ONNX Runtime: written once by torch, held against it, then without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.models import Model
from bench.onnx_export import Graph, exported_folder, exporting, refusal, write_graph
from bench.rerankers.pair_tokens import Features, Layout, PairTokenizer, pair_tokenizer
from bench.rerankers.pairs import PairScores
from bench.rerankers.torch_pairs import TorchPairs, load

TOLERANCE = 1e-4
"""How far a score may lie from torch's, in parts of the greatest of the samples or of 1."""

_SETTING = "cross_encoder.backend"
_LAYOUT, _TOKENIZER = "layout.json", "tokenizer.json"
_DOCUMENTS = ("El plazo de devolución es de treinta días.", "no", "", "Envío gratis desde 30 €. " * 100)
_SAMPLES = [
    (query, document) for query in ("¿Cuándo devolver unas ZAPATILLAS?", "ok") for document in _DOCUMENTS
]
_SAMPLE_TOKENS = 200


class OnnxPairs:
    """A model as `export` wrote it, on the CPU, in float32."""

    def __init__(self, folder: Path) -> None:
        layout = Layout(**json.loads((folder / _LAYOUT).read_text(encoding="utf-8")))
        self._tokenizer = PairTokenizer(Tokenizer.from_file(str(folder / _TOKENIZER)), layout)
        self.longest_input = layout.longest_input
        self._graph = Graph(folder)

    def score(
        self, queries: Sequence[str], documents: Sequence[str], *, longest: int, batch_tokens: int
    ) -> PairScores:
        """Logits of pairs of `longest` tokens at most."""
        pairs = self._tokenizer.pairs(queries, documents, longest=longest)
        return pairs.scored(self._logits, batch_tokens=batch_tokens)

    def _logits(self, features: Features) -> npt.NDArray[np.float32]:
        return self._graph.run(features).reshape(-1)


def onnx_pairs(source: Model, identity: str, *, trust_remote_code: bool) -> OnnxPairs:
    """The model of this identity out of the user's cache, written there by torch if it is not there whole.

    BenchError where ONNX cannot express it.
    """

    def write(folder: Path) -> None:
        # Eager attention is plain products and sums, which every opset has.
        loaded = load(source, device="cpu", trust_remote_code=trust_remote_code, attention="eager")
        export(source.name, loaded, folder)

    return OnnxPairs(exported_folder("onnx-pairs", identity, str(trust_remote_code), write=write))


def export(name: str, model: Any, folder: Path) -> None:
    """Write a CrossEncoder into an existing, empty folder.

    BenchError where it has no such form, or computes something else there than in torch.
    """
    tokenizer = pair_tokenizer(model)
    if tokenizer is None:
        raise refusal(_SETTING, name, ", as more than a fast tokenizer makes its input")
    (folder / _LAYOUT).write_text(json.dumps(asdict(tokenizer.layout), indent=1), encoding="utf-8")
    tokenizer.tokenizer.save(str(folder / _TOKENIZER))
    with exporting(_SETTING, name):
        examples = model.preprocess(_SAMPLES[:2])  # the shorter is padded
        write_graph(
            lambda inputs: model(inputs)["scores"],
            model=model,
            examples={name: examples[name] for name in tokenizer.layout.inputs},
            output="scores",
            folder=folder,
        )
        distance = _distance(model, OnnxPairs(folder))
    if not distance <= TOLERANCE:
        raise refusal(_SETTING, name, f": its scores lie {distance:.1g} from torch's")


def _distance(model: Any, written: OnnxPairs) -> float:
    """The largest difference of a score, in parts of the greatest, or of 1 where all are smaller."""
    queries, documents = zip(*_SAMPLES, strict=True)
    longest = min(_SAMPLE_TOKENS, written.longest_input or _SAMPLE_TOKENS)
    expected, got = (
        each.score(queries, documents, longest=longest, batch_tokens=longest * len(_SAMPLES)).values
        for each in (TorchPairs(model, "float32"), written)
    )
    return float(np.abs(got - expected).max() / max(1.0, np.abs(expected).max()))
