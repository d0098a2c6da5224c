"""The cells of a command as tidy records, for scripts: every column of the grid under its name, no value as null."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from bench.grid import GRID

WHOLE = frozenset(column.name for column in GRID if column.type == pa.int64())
"""The columns of whole numbers: with a null among them a frame holds them as fractions."""


def as_json(frames: Sequence[pd.DataFrame], **beside: Any) -> str:
    """`{"cells": [...], ...}`, a cell a line: those of every frame, and behind them what is `beside`."""
    cells = [_record(row) for frame in frames for row in frame.to_dict("records")]
    lines = "".join(f"\n{json.dumps(cell, ensure_ascii=False)}," for cell in cells).rstrip(",")
    rest = "".join(f',\n"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in beside.items())
    return f'{{"cells": [{lines}]{rest}}}\n'


def _record(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): _plain(str(name), value) for name, value in row.items()}


def _plain(name: str, value: Any) -> Any:
    if value is None or pd.isna(value):
        return None
    return int(value) if name in WHOLE else value
