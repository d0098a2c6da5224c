"""A sentence-transformers model run by ONNX Runtime: written once by torch, held against it, then without it."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.embedders.torch_model import Facts, Task, TorchModel, facts_of, load
from bench.errors import BenchError, missing_library
from bench.identity import digest
from bench.model_folders import built_folder, user_cache
from bench.models import Model

try:
    import onnxruntime
except ImportError as error:
    raise missing_library("onnxruntime", extra="onnx") from error
# Needed to write a model only, and slow to import.
if find_spec("onnx") is None:
    raise missing_library("onnx", extra="onnx")

EXPORT = 1
"""To be raised with every change here that changes what is written."""
OPSET = 17
TOLERANCE = 1e-4
"""How far a number may lie from torch's, in parts of the length of the longest vector."""

# What seals a built folder knows weights and json by their suffix: a graph named *.onnx could be damaged unseen.
_GRAPH, _WEIGHTS, _FACTS, _TOKENIZER = "graph.bin", "weights.bin", "facts.json", "tokenizer.json"
_INPUTS = ("input_ids", "attention_mask")
_SAMPLES = ("Devolver unas ZAPATILLAS usadas, ¿cuándo?", "ok", "", "plazo de devolución " * 100)
_SAMPLE_TOKENS = 200


class OnnxModel:
    """A model as `export` wrote it, on the CPU."""

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        self.facts, self._padding = Facts(**told["model"]), told["padding"]
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _threads()
        # A thread that spins for its next work slows whatever is timed after it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(folder / _GRAPH), options, providers=["CPUExecutionProvider"]
        )

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
        (values,) = self._session.run(None, dict(zip(_INPUTS, (ids, mask), strict=True)))
        return np.asarray(values, np.float32)


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

    key = digest(identity, str(trust_remote_code))
    return OnnxModel(built_folder(user_cache() / "models" / f"onnx-{key}-{EXPORT}", write))


def export(name: str, model: Any, folder: Path) -> None:
    """Write a SentenceTransformer, pooling and all, into an existing, empty folder.

    BenchError where it has no such form, or computes something else there than in torch.
    """
    refusal = f"embedder.backend=onnx: {name} cannot be written as ONNX"
    if not hasattr(model[0], "auto_model") or not getattr(model.tokenizer, "is_fast", False):
        raise BenchError(f"{refusal}, as no transformer with a fast tokenizer: use embedder.backend=torch")
    told = {"model": asdict(facts_of(model)), "padding": model.tokenizer.pad_token_id or 0}
    (folder / _FACTS).write_text(json.dumps(told, indent=1), encoding="utf-8")
    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.save(str(folder / _TOKENIZER))
    try:
        _write_graph(model, folder)
        distance = _distance(model, OnnxModel(folder))
    except Exception as error:  # of torch, of transformers' own code, of onnx: they have no common class
        reason = (str(error) or type(error).__name__).splitlines()[0]
        # Without its cause: the tracer's messages can hold all weights of a model.
        raise BenchError(f"{refusal} ({reason}): use embedder.backend=torch") from None
    if not distance <= TOLERANCE:
        raise BenchError(
            f"{refusal}: its vectors lie {distance:.1g} from torch's: use embedder.backend=torch"
        )


def _write_graph(model: Any, folder: Path) -> None:
    import onnx
    import torch

    class Vectors(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model({"input_ids": input_ids, "attention_mask": attention_mask})[
                "sentence_embedding"
            ]

    # Two texts, one of them padded, so that neither a size nor the mask is taken for a constant.
    examples = model.preprocess(list(_SAMPLES[:2]))
    axes = {0: "texts", 1: "tokens"}
    # The tracer warns of every branch on a shape: what comes out is held against torch instead.
    with TemporaryDirectory(dir=folder) as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(scratch) / "model.onnx"
        torch.onnx.export(
            Vectors().eval(),
            tuple(examples[name] for name in _INPUTS),
            str(file),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(_INPUTS),
            output_names=["vectors"],
            dynamic_axes={**dict.fromkeys(_INPUTS, axes), "vectors": {0: "texts"}},
        )
        # Weights beside the graph: a file holds two gigabytes at most, and one of weights is mapped, not read.
        onnx.save_model(
            onnx.load(str(file)), str(folder / _GRAPH), save_as_external_data=True, location=_WEIGHTS
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


def _threads() -> int:
    """As many as torch takes: what OMP_NUM_THREADS says, else the cores that this process may use."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
