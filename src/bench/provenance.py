"""What figures were made with and where, as far as they depend on it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

DEPENDS_ON = ("bench", "numpy", "bm25s", "faiss-cpu", "torch", "transformers", "sentence-transformers")


def versions() -> dict[str, str]:
    """The versions of what the figures depend on, where they are installed."""
    found = {"python": platform.python_version()}
    for package in DEPENDS_ON:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Where the figures were made, as far as they depend on it."""
    processor = platform.processor() or platform.machine()
    return {"platform": platform.platform(), "processor": processor, "cores": os.cpu_count()}
