"""The program on the tiny collection as a user calls it: in this process, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from tests.conftest import TINY

from bench.cli import main
from bench.grid import GRID

ROOT = Path(__file__).parents[2]
PARTS = Path(__file__).parent / "conf"
FAST = ("embedder=hashing", "timing=off")
MEASURED = [column.name for column in GRID if column.measured]


@dataclass(frozen=True)
class Answer:
    """What a call of the program gave back."""

    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


def on(folder: Path) -> tuple[str, ...]:
    """The overrides for a collection in a folder, without a model and without the latency pass."""
    return ("collection=beir", f"collection.path={folder}", *FAST)


TINILY = on(TINY)
OUR_PARTS = ("--config-dir", str(PARTS))


def bench(*words: str, on: tuple[str, ...] = TINILY) -> Answer:
    """The program in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([*on, *words])
        except SystemExit as stopped:  # Hydra's parser of switches
            code = int(stopped.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_its_own_process(*command: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A command started in a folder, with the parts of these tests within its reach."""
    return subprocess.Popen(
        command,
        # Where the tests themselves are told to ignore an interrupt (nohup, a background job), it is not.
        preexec_fn=_interruptible,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def as_module(*words: str, on: tuple[str, ...] = TINILY) -> tuple[str, ...]:
    """The words of `python -m bench`."""
    return (sys.executable, "-m", "bench", *on, *words)


def finished(process: subprocess.Popen[str]) -> Answer:
    """What a process of the program gave back."""
    out, err = process.communicate(timeout=300)
    return Answer(process.returncode, out, err)


def grid(name: str = "default") -> pd.DataFrame:
    """The grid of a folder below the working folder."""
    return pd.read_parquet(Path("outputs") / name / "grid.parquet")


def unmeasured(frame: pd.DataFrame) -> pd.DataFrame:
    """A grid without the columns that differ from run to run."""
    return frame.drop(columns=MEASURED)


def jobs(name: str = "default") -> dict[str, Path]:
    """The folders of the jobs below the working folder, by label."""
    manifests = sorted(Path("outputs", name).glob("*/manifest.json"))
    return {json.loads(path.read_text())["system"]: path.parent for path in manifests}


def copy_of_tiny(folder: Path) -> Path:
    """A copy of the tiny collection, to be changed."""
    return Path(shutil.copytree(TINY, folder / "tiny"))


def replace_in(file: Path, old: str, new: str) -> None:
    """Change what stands once in a file."""
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
    file.write_text(text.replace(old, new))


def calls() -> list[str]:
    """What the parts of tests.cli.parts were asked for, in the working folder."""
    log = Path("calls.txt")
    return log.read_text().splitlines() if log.exists() else []
