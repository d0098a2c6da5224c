"""A torch model as a graph of ONNX Runtime: written once into the user's cache, held against torch, run on the CPU."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError, missing_library
from bench.identity import digest
from bench.model_folders import built_folder, user_cache

try:
    import onnxruntime
except ImportError as error:
    raise missing_library("onnxruntime", extra="onnx") from error
# Needed to write a model only, and slow to import.
if find_spec("onnx") is None:
    raise missing_library("onnx", extra="onnx")

EXPORT = 1
"""To be raised with every change of what is written, here or by the families."""
OPSET = 17

# What seals a built folder knows weights and json by their suffix: a graph named *.onnx could be damaged unseen.
_GRAPH, _WEIGHTS = "graph.bin", "weights.bin"


def exported_folder(kind: str, *identity: str, write: Callable[[Path], None]) -> Path:
    """The folder of this identity in the user's cache, filled by `write` if it is not there whole."""
    name = f"{kind}-{digest(*identity)}-{EXPORT}"
    return built_folder(user_cache() / "models" / name, write)


@contextmanager
def exporting(setting: str, model: str) -> Iterator[None]:
    """Around what writes a model: BenchError, naming the setting, where ONNX cannot express it."""
    try:
        yield
    except BenchError:
        raise
    except Exception as error:  # of torch, of transformers' own code, of onnx: they have no common class
        reason = (str(error) or type(error).__name__).splitlines()[0]
        # Without its cause: the tracer's messages can hold all weights of a model.
        raise refusal(setting, model, f" ({reason})") from None


def refusal(setting: str, model: str, reason: str) -> BenchError:
    """The error for a model that has no such form; the reason begins with its comma, colon or bracket."""
    return BenchError(f"{setting}=onnx: {model} cannot be written as ONNX{reason}: use {setting}=torch")


def write_graph(
    compute: Callable[[dict[str, Any]], Any],
    *,
    model: Any,
    examples: Mapping[str, Any],
    output: str,
    folder: Path,
) -> None:
    """Write what `compute` makes of named inputs [texts, tokens], as one output with a row a text.

    model: the torch module whose weights `compute` reads
    examples: inputs of two texts, one of them padded, so that neither a size nor the mask is taken for constant
    """
    import onnx
    import torch

    names = list(examples)

    class Computation(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return compute(dict(zip(names, inputs, strict=True)))

    axes = {0: "texts", 1: "tokens"}
    # The tracer warns of every branch on a shape: what comes out is held against torch instead.
    with TemporaryDirectory(dir=folder) as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(scratch) / "model.onnx"
        torch.onnx.export(
            Computation().eval(),
            tuple(examples.values()),
            str(file),
            dynamo=False,
            opset_version=OPSET,
            input_names=names,
            output_names=[output],
            dynamic_axes={**dict.fromkeys(names, axes), output: {0: "texts"}},
        )
        # Weights beside the graph: a file holds two gigabytes at most, and one of weights is mapped, not read.
        onnx.save_model(
            onnx.load(str(file)), str(folder / _GRAPH), save_as_external_data=True, location=_WEIGHTS
        )


class Graph:
    """A graph that `write_graph` wrote."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        # A thread that spins for its next work slows whatever is timed after it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(folder / _GRAPH), options, providers=["CPUExecutionProvider"]
        )
        # An input that changes nothing of the output is none of the graph's.
        self.inputs: Sequence[str] = [each.name for each in self._session.get_inputs()]

    def run(self, features: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        """The output for named inputs, int64 [texts, tokens]."""
        (values,) = self._session.run(None, {name: features[name] for name in self.inputs})
        return np.asarray(values, np.float32)


def threads() -> int:
    """As many as torch takes: what OMP_NUM_THREADS says, else the cores that this process may use."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
