"""Which k, and is the reranker worth it: retrieval benchmarks over documents with judged queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.notebook import Results

__all__ = ["load", "run"]


def run(*overrides: str) -> Results:
    """What `python -m bench` does with these overrides; returns the results of the jobs it asked for."""
    from bench.api import run as run_jobs
    from bench.notebook import shown

    return shown(run_jobs(*overrides))


def load(folder: str | Path) -> Results:
    """The results under a folder of outputs/."""
    from bench.notebook import load as load_results

    return load_results(folder)
