"""What training has made of a base: a small folder, and the cross-encoder that the two are together.

`adapter.json` says which base it belongs to and how pairs are read; `adapter.safetensors` holds what was learned:
for a matrix of the base `<name>.left` [rows, rank] and `<name>.right` [rank, columns], whose product is added to
it, and every other parameter whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from bench.errors import BenchError, Unavailable
from bench.models import torch_device
from bench.rerankers.base import Base
from bench.rerankers.delayed_pairs import DelayedPairs

FACTS, WEIGHTS = "adapter.json", "adapter.safetensors"
Tensors = Mapping[str, npt.NDArray[np.floating[Any]]]


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """An adapter in a folder. What is found is kept with the value: a new one sees a folder that was trained anew.

    setting: the config key that named the folder, for messages
    """

    folder: Path
    setting: str

    @staticmethod
    def stands_in(folder: Path) -> bool:
        """Whether a folder holds an adapter and no whole model."""
        return (folder / FACTS).is_file()

    @property
    def identity(self) -> str:
        """The base and what was learned, by their contents."""
        return f"adapter {self._facts['sha256'][:12]} over {self._facts['base_identity']}"

    def check(self) -> None:
        """Unavailable where a file is damaged, or the base cannot be had or is another than it was trained on."""
        facts, weights = self._facts, self.folder / WEIGHTS
        found = hashlib.sha256(weights.read_bytes()).hexdigest() if weights.is_file() else "missing"
        if found != facts["sha256"]:
            raise self._unavailable(
                f"{WEIGHTS} is not the file that was trained (sha256 {found[:12]}, not {facts['sha256'][:12]})"
            )
        base = self.base
        try:
            base.check()
        except BenchError as error:
            raise self._unavailable(f"its base cannot be had ({error})") from error
        if base.identity() != facts["base_identity"]:
            raise self._unavailable(
                f"it was trained on {facts['base_identity']}, and {base.name} here is {base.identity()}"
            )

    @cached_property
    def base(self) -> Base:
        """What it was trained on."""
        try:
            return Base(**self._facts["base"])
        except (TypeError, BenchError) as error:
            raise self._unavailable(f"{FACTS} names no base ({error})") from error

    def cross_encoder(self, *, device: str) -> Any:
        """The trained CrossEncoder of sentence-transformers; Unavailable as `check` says."""
        self.check()
        model = self.base.cross_encoder(device=device)
        try:
            apply(load_file(self.folder / WEIGHTS), model)
        except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
            raise self._unavailable(f"{WEIGHTS} does not fit its base ({error})") from error
        return model

    def loaded(self, *, device: str, dtype: str = "float32") -> DelayedPairs:
        """The cross-encoder ready to score pairs."""
        return DelayedPairs(self.cross_encoder(device=torch_device(device)), dtype)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        try:
            facts = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
            if not all(isinstance(facts[name], str) for name in ("sha256", "base_identity")):
                raise TypeError("sha256 and base_identity are texts")
            return {**facts, "base": dict(facts["base"])}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise self._unavailable(f"{FACTS} cannot be read ({type(error).__name__}: {error})") from error

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(
            f"{self.setting}={self.folder}: {reason}; train it anew: python -m bench train reranker"
        )


def write(folder: Path, learned: Tensors, *, base: Base, facts: Mapping[str, Any]) -> None:
    """Write an adapter into a folder: what was learned in half precision, and facts about how."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = folder / WEIGHTS
    save_file({name: np.array(t, np.float16, order="C") for name, t in sorted(learned.items())}, weights)
    weights.chmod(0o644)  # its writer lets nobody else read it
    known = {
        "base": base.facts(),
        "base_identity": base.identity(),
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        **facts,
    }
    # Written beside and renamed: the facts are what says that the adapter is finished.
    beside = folder / f".{FACTS}"
    beside.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(folder / FACTS)


def difference(model: Any, base: Any, *, rank: int | None) -> dict[str, npt.NDArray[np.float32]]:
    """What a trained model has that its base has not, each matrix by the best approximation of a rank.

    By singular values (Eckart and Young, 1936); None, or a rank at which two factors are no smaller, keeps the
    parameter whole. Parameters that did not learn are left out.
    """
    before = dict(base.named_parameters())
    found: dict[str, npt.NDArray[np.float32]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        now, then = (p.detach().float().cpu().numpy() for p in (parameter, before[name]))
        if now.ndim != 2 or rank is None or rank * sum(now.shape) >= now.size:
            found[name] = now
        else:
            left, values, right = np.linalg.svd(now - then, full_matrices=False)
            found[f"{name}.left"] = left[:, :rank] * values[:rank]
            found[f"{name}.right"] = right[:rank]
    return found


def apply(learned: Tensors, model: Any) -> None:
    """Put what was learned into a model of its base; KeyError or RuntimeError where it does not fit."""
    import torch

    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for name, values in learned.items():
            if name.endswith(".left"):
                matrix = name.removesuffix(".left")
                right = learned[f"{matrix}.right"]
                product = values.astype(np.float32) @ right.astype(np.float32)
                parameters[matrix].add_(torch.from_numpy(product))
            elif not name.endswith(".right"):
                parameter = parameters[name]
                # A single number may have been written as a row of one.
                whole = values.reshape(()) if parameter.ndim == 0 else values
                parameter.copy_(torch.from_numpy(whole.astype(np.float32)))
