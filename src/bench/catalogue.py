"""What there is to choose from: the yaml files of conf/, each with the comment that says when to use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.config import GROUPS, conf_folder
from bench.errors import BenchError, did_you_mean

SHOWN = ("collection", *GROUPS, "timing", "tracking", "train", "experiment")


def catalogue(groups: Sequence[str]) -> str:
    """The options of these groups, of all without any, one a line."""
    for group in groups:
        if group not in SHOWN:
            raise BenchError(f"there is no group '{group}'{did_you_mean(group, SHOWN)}")
    return "\n\n".join(_group(group) for group in groups or SHOWN)


def _group(group: str) -> str:
    files = sorted((conf_folder() / group).glob("*.yaml"))
    width = max((len(file.stem) for file in files), default=0)
    return "\n".join([group, *(f"  {file.stem:{width}}  {_when(file)}" for file in files)])


def _when(file: Path) -> str:
    comments = [
        line.removeprefix("#").strip() for line in file.read_text().splitlines() if line.startswith("#")
    ]
    return next((comment for comment in comments if comment and not comment.startswith("@package")), "")
