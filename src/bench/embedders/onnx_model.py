"""A sentence-transformers model run by ONNX Runtime: written once by torch, held against it, then without it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.embedders.torch_model import Facts, Task, TorchModel, facts_of, load
from bench.models import Model
from bench.onnx_export import Graph, exported_folder, exporting, refusal, write_graph

TOLERANCE = 1e-4
"""How far a number may lie from torch's, in parts of the length of the longest vector."""

_SETTING = "embedder.backend"
_FACTS, _TOKENIZER = "facts.json", "tokenizer.json"
_INPUTS = ("input_ids", "attention_mask")
_SAMPLES = ("Devolver unas ZAPATILLAS usadas, ¿cuándo?", "ok", "", "plazo de devolución " * 100)
_SAMPLE_TOKENS = 200


class OnnxModel:
    """A model as `export` wrote it, on the CPU."""

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        self.facts, self._padding = Facts(**told["model"]), told["padding"]
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._graph = Graph(folder)

    def encode(
        self,
        texts: Sequence[str],
        *,
        task: Task,  # noqa: ARG002 (a model with two sides is not written)
        prompt: str,
        longest: int | None,
        batch_size: int,
    ) -> npt.NDArray[np.float32]:
        """Vectors of the texts behind the prompt, float32 [n, dimension]; no token beyond `longest` is read."""
        tokens = self._tokens([prompt + text for text in texts], longest)
        values = np.empty((len(texts), self.facts.dimension), np.float32)
        # Texts of like length together, so that little is computed for padding.
        order = sorted(range(len(texts)), key=lambda row: len(tokens[row]))
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            values[rows] = self._run([tokens[row] for row in rows])
        return values

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, before any is cut."""
        return [len(tokens) for tokens in self._tokens(texts, None)]

    def _tokens(self, texts: Sequence[str], longest: int | None) -> list[list[int]]:
        if longest is None:
            self._tokenizer.no_truncation()
        else:
            self._tokenizer.enable_truncation(longest)
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]

    def _run(self, tokens: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        shape = len(tokens), max(1, *map(len, tokens))
        ids, mask = np.full(shape, self._padding, np.int64), np.zeros(shape, np.int64)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)], mask[row, : len(of_text)] = of_text, 1
        return self._graph.run(dict(zip(_INPUTS, (ids, mask), strict=True)))


def onnx_model(model: Model, identity: str, *, trust_remote_code: bool) -> OnnxModel:
    """The model of this identity out of the user's cache, written there by torch if it is not there whole.

    BenchError where ONNX cannot express it.
    """

    def write(folder: Path) -> None:
        # Eager attention is plain products and sums, which every opset has.
        loaded = load(
            model, device="cpu", dtype="float32", trust_remote_code=trust_remote_code, attention="eager"
        )
        export(model.name, loaded, folder)

    return OnnxModel(exported_folder("onnx", identity, str(trust_remote_code), write=write))


def export(name: str, model: Any, folder: Path) -> None:
    """Write a SentenceTransformer, pooling and all, into an existing, empty folder.

    BenchError where it has no such form, or computes something else there than in torch.
    """
    if not hasattr(model[0], "auto_model") or not getattr(model.tokenizer, "is_fast", False):
        raise refusal(_SETTING, name, ", as no transformer with a fast tokenizer")
    told = {"model": asdict(facts_of(model)), "padding": model.tokenizer.pad_token_id or 0}
    (folder / _FACTS).write_text(json.dumps(told, indent=1), encoding="utf-8")
    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.save(str(folder / _TOKENIZER))
    with exporting(_SETTING, name):
        _write_graph(model, folder)
        distance = _distance(model, OnnxModel(folder))
    if not distance <= TOLERANCE:
        raise refusal(_SETTING, name, f": its vectors lie {distance:.1g} from torch's")


def _write_graph(model: Any, folder: Path) -> None:
    examples = model.preprocess(list(_SAMPLES[:2]))  # the shorter is padded
    write_graph(
        lambda inputs: model(inputs)["sentence_embedding"],
        model=model,
        examples={name: examples[name] for name in _INPUTS},
        output="vectors",
        folder=folder,
    )


def _distance(model: Any, written: OnnxModel) -> float:
    """The largest difference of a number, in parts of the length of the longest vector."""
    longest = min(_SAMPLE_TOKENS, written.facts.longest_input or _SAMPLE_TOKENS)
    differences = []
    for task, prompt in itertools.product(get_args(Task), ("", "query: ")):
        expected, got = (
            each.encode(_SAMPLES, task=task, prompt=prompt, longest=longest, batch_size=len(_SAMPLES))
            for each in (TorchModel(model), written)
        )
        differences.append(float(np.abs(got - expected).max() / np.linalg.norm(expected, axis=1).max()))
    return max(differences)
