"""A part whose library is not installed, unless there is a file of its name in the working folder."""

from __future__ import annotations

from pathlib import Path

from bench.embedders.hashing import Hashing
from bench.errors import missing_library

if not Path("library.txt").exists():
    raise missing_library("library", extra="vectors")

Missing = Hashing
