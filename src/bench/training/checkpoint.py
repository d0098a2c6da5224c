"""The state of a training on disk, so that after a kill the same command goes on with it."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.artifacts import write_beside
from bench.errors import BenchError

_KEPT = ("step", "seconds", "tests", "best", "parameters", "optimizer", "random")
# Whatever a damaged file makes of its readers.
_UNREADABLE = (
    OSError, RuntimeError, EOFError, ValueError, LookupError, TypeError, AttributeError,
    pickle.PickleError, zipfile.BadZipFile, NotImplementedError,
)  # fmt: skip
Parameters = Sequence[tuple[str, Any]]
"""Names and tensors of what learns."""


@dataclass
class State:
    """How far a training is, what its tests said, and the parameters of the best one."""

    made_of: str
    """Names the training: settings, data and base. A checkpoint of another is refused."""
    step: int = 0
    resumed_at: int = 0
    seconds: float = 0.0
    """Spent before this process."""
    tests: list[tuple[int, float]] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path, learning: Parameters, optimizer: Any, *, made_of: str) -> State:
        """The state that a file holds, put into the parameters and the optimizer; a new one where there is none."""
        import torch

        if not file.is_file():
            return cls(made_of)
        try:
            with zipfile.ZipFile(file) as archive:
                damaged = archive.testzip()
            # weights_only: tensors and plain values; nothing in the file is run.
            kept = {} if damaged else torch.load(file, weights_only=True)
            whole = kept.keys() >= {"made_of", *_KEPT}
        except _UNREADABLE as error:
            raise _damaged(file, _first_line(error)) from error
        if damaged:
            raise _damaged(file, f"{damaged} in it is not what was written")
        if not whole or kept["made_of"] != made_of:
            raise BenchError(
                f"{file} belongs to a training on other settings or data: delete it to start again, "
                "or name another folder (-o DIR)"
            )
        with torch.no_grad():
            for name, parameter in learning:
                parameter.copy_(kept["parameters"][name])
        optimizer.load_state_dict(kept["optimizer"])
        torch.set_rng_state(kept["random"])
        tests = [(int(step), float(figure)) for step, figure in kept["tests"]]
        return cls(made_of, kept["step"], kept["step"], kept["seconds"], tests, kept["best"])

    def tested(self, figure: float, learning: Parameters) -> None:
        """Remember a test of the present step, and the parameters if it is the best so far."""
        self.tests.append((self.step, figure))
        if figure >= max(best for _, best in self.tests):
            self.best = {name: parameter.detach().clone() for name, parameter in learning}

    @property
    def tests_since_best(self) -> int:
        """How many tests have passed without a better one."""
        figures = [figure for _, figure in self.tests]
        return len(figures) - 1 - max(i for i, figure in enumerate(figures) if figure == max(figures))

    def save(self, file: Path, learning: Parameters, optimizer: Any, *, seconds: float) -> None:
        """Write it beside and rename, so that a kill leaves the one before."""
        import torch

        kept = {
            "made_of": self.made_of,
            "step": self.step,
            "seconds": self.seconds + seconds,
            "tests": self.tests,
            "best": self.best,
            "parameters": {name: parameter.detach() for name, parameter in learning},
            "optimizer": optimizer.state_dict(),
            "random": torch.get_rng_state(),
        }
        write_beside(file, lambda path: torch.save(kept, path))

    def load_best(self, learning: Parameters) -> None:
        """Put the parameters of the best test into the model."""
        import torch

        with torch.no_grad():
            for name, parameter in learning:
                if name in self.best:
                    parameter.copy_(self.best[name])


def _damaged(file: Path, reason: str) -> BenchError:
    return BenchError(f"{file} is damaged ({reason}): delete it to start again")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
