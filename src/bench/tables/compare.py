"""What `compare` found, told: as tables for a terminal, as Markdown, as JSON or as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.statistics.before_after import BeforeAfter
from bench.statistics.overview import Overview
from bench.tables.blocks import Block, put, tell
from bench.tables.change import change_blocks
from bench.tables.overview import overview_blocks
from bench.tables.records import records


def told(found: Sequence[Overview | BeforeAfter], *, form: str = "table", output: Path | None = None) -> int:
    """Print what was found, or write it to a file. The exit code is 0.

    As CSV a sweep is its systems, and a before and after its changes.
    """
    if form == "json":
        put(_json(records(found)), output)
    elif form == "csv":
        lists = records(found)
        put(_csv(lists["systems"] or lists["changes"]), output)
    else:
        tell([block for one in found for block in _blocks(one)], form=form, output=output)
    return 0


def _blocks(found: Overview | BeforeAfter) -> list[Block]:
    return list(overview_blocks(found) if isinstance(found, Overview) else change_blocks(found))


def _json(lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """An object of lists, a record a line."""
    parts = []
    for name, rows in lists.items():
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        parts.append(f'"{name}": [\n  {lines}\n]' if rows else f'"{name}": []')
    return "{" + ",\n".join(parts) + "}\n"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
