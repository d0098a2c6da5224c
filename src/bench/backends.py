"""What computes a model, torch or ONNX Runtime, and in which numbers this machine is the faster."""

from __future__ import annotations

import functools
from pathlib import Path

from bench.errors import BenchError, check_one_of
from bench.models import check_device, torch_device

# torch takes seconds to import: only where a GPU could be what computes.

BACKENDS = ("torch", "onnx")
_PROCESSOR = Path("/proc/cpuinfo")
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}


def check_backend(group: str, backend: str, *, device: str, dtype: str) -> None:
    """BenchError where there is no such backend, or it cannot compute in this way."""
    check_one_of(f"{group}.backend", backend, BACKENDS)
    if backend == "onnx" and (device == "cuda" or dtype not in ("float32", "auto")):
        raise BenchError(
            f"{group}.backend=onnx with {group}.device={device} and {group}.dtype={dtype}: it computes on "
            f"the CPU in float32; {group}.backend=torch takes these"
        )


def check_runs(group: str, backend: str, *, device: str) -> None:
    """Unavailable where the backend is not installed, or a GPU is asked for and there is none."""
    if backend == "onnx":
        import bench.onnx_export  # noqa: F401 (says which library is missing)
    check_device(group, device)


def dtype_here(dtype: str, *, device: str, backend: str) -> str:
    """What `auto` is on this machine: bfloat16 where that is the faster of the two, else float32.

    Asks torch where the device is not the CPU for certain.
    """
    if dtype != "auto":
        return dtype
    if backend == "onnx":
        return "float32"
    if device != "cpu" and torch_device(device) != "cpu":
        import torch

        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = computes_in_bfloat16()
    return "bfloat16" if fast else "float32"


@functools.cache
def computes_in_bfloat16() -> bool:
    """Whether this processor has instructions for bfloat16; without them it takes several times float32's time.

    As Linux tells it; elsewhere it is taken for one without.
    """
    return _PROCESSOR.is_file() and not _BFLOAT16.isdisjoint(_PROCESSOR.read_text().split())
