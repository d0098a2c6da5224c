"""Scores of runs as a table for a terminal, as JSON, CSV or Parquet."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.artifacts import write_table, write_text
from bench.metrics import parse
from bench.output import write_out
from bench.scores import COUNTS, Scores
from bench.statistics.marks import marks_of
from bench.tables import shown
from bench.tables.marks import legend

BESIDE = {
    "intervals": {"95 % from": "lo", "95 % to": "hi"},
    "bounds": {"unjudged, least": "low", "unjudged, most": "high"},
    "ties": {"ties, lowest": "tie_lowest", "ties, expected": "tie_expected", "ties, highest": "tie_highest"},
}
"""What can stand under a mean, a row each, and the column that it is."""
MARKS = {"~": "--ties", "?": "--bounds"}
"""What is put behind a mean, and the option that shows why."""
Row = Mapping[str, Any]


def told(
    scores: Scores,
    *,
    form: str = "table",
    output: Path | None = None,
    per_query: bool = False,
    beside: Sequence[str] = (),
) -> int:
    """Print scores, or write them to a file; what is worth hearing goes to standard error. The exit code is 0."""
    for note in scores.notes:
        print(note, file=sys.stderr)
    if form == "table":
        content = Group(*tables(scores, per_query=per_query, beside=beside, width=_width(output)))
        if output is None:
            shown(content)
        else:
            write_out(output, write_text(_plain(content)))
        return 0
    tidy = scores.per_query if per_query else scores.measures
    if form == "parquet" and output is not None:
        write_out(output, write_table(tidy))
        return 0
    text = as_json(scores, per_query=per_query) if form == "json" else tidy.to_pandas().to_csv(index=False)
    if output is None:
        print(text, end="")
    else:
        write_out(output, write_text(text))
    return 0


def as_json(scores: Scores, *, per_query: bool) -> str:
    """`{"measures": [...], "per_query": [...], "notes": [...]}`, a record a line; null where there is no value."""
    lists = {
        "measures": scores.measures.to_pylist(),
        "per_query": scores.per_query.to_pylist() if per_query else [],
        "notes": list(scores.notes),
    }
    parts = [f'"{name}": [{_lines(records)}]' for name, records in lists.items()]
    return "{" + ",\n".join(parts) + "}\n"


def tables(
    scores: Scores, *, per_query: bool = False, beside: Sequence[str] = (), width: int = 100
) -> Iterator[RenderableType]:
    """Rows runs (and their queries), columns measures, as many tables as the width asks for; then the counts."""
    rows = scores.measures.to_pylist()
    means = {(row["run"], row["measure"]): row for row in rows}
    runs = list(dict.fromkeys(row["run"] for row in rows))
    queries = _by_query(scores) if per_query else {}
    under = {label: column for kind in beside for label, column in BESIDE[kind].items()}
    labels = [*runs, *(f"  {label}" for label in under), *(query for _, query in queries)]
    label = min(max(map(len, labels)), 40)
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    for columns in _portions(measures, width - label - 2):
        table = _table(["run", *columns], label)
        for run in runs:
            table.add_row(
                run, *(_mean(means[run, column]) for column in columns), style="bold" if queries else ""
            )
            for name, column in under.items():
                table.add_row(f"  {name}", *(_figure(means[run, one][column]) for one in columns))
            for (of, query), values in queries.items():
                if of == run:
                    table.add_row(f"  {query}", *(_figure(values[column]) for column in columns))
        yield table
    yield _counts(rows, label)
    yield from (Text(line) for line in _legend(rows))


def _by_query(scores: Scores) -> dict[tuple[str, str], dict[str, float | None]]:
    """The values of each run and query, by measure."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    columns = (scores.per_query[name].to_pylist() for name in ("run", "query_id", "measure", "value"))
    for run, query, measure, value in zip(*columns, strict=True):
        found.setdefault((run, query), {})[measure] = value
    return found


def _portions(measures: Sequence[str], room: int) -> Iterator[list[str]]:
    """The columns of each table: a measure at all its cut-offs stays together as far as the width allows."""
    portion: list[str] = []
    left = room
    for _, group in itertools.groupby(measures, key=lambda name: name.rpartition("@")[0] or name):
        names = list(group)
        if portion and sum(map(_column, names)) > left:
            yield portion
            portion, left = [], room
        for name in names:
            if portion and _column(name) > left:
                yield portion
                portion, left = [], room
            portion.append(name)
            left -= _column(name)
    yield portion


def _column(name: str) -> int:
    """How wide the column of a measure is: its name, or its figure with both marks, and two blanks."""
    return max(len(name), len("0.0000") + len(MARKS)) + 2


def _table(header: Sequence[str], label: int) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(header[0], width=label, overflow="fold")
    for name in header[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _mean(row: Row) -> Text:
    return Text(_figure(row["mean"]) + _marks(row).ljust(len(MARKS)))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _marks(row: Row) -> str:
    return marks_of(parse(row["measure"])[0], row["mean"], row, digits=4)


def _counts(rows: Sequence[Row], label: int) -> Table:
    """Over how many queries the means are, and what they leave out; measures that count alike share a row."""
    table = _table(["run", "measures", *(name.replace("_", " ") for name in COUNTS)], label)
    groups: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        groups.setdefault((row["run"], *(row[name] for name in COUNTS)), []).append(row["measure"])
    for (run, *counts), measures in groups.items():
        every = len(measures) == sum(row["run"] == run for row in rows)
        heads = dict.fromkeys(name.rpartition("@")[0] or name for name in measures)
        table.add_row(run, "all" if every else " ".join(heads), *map(str, counts))
    return table


def _legend(rows: Sequence[Row]) -> Iterator[str]:
    for mark, option in MARKS.items():
        if any(mark in _marks(row) for row in rows):
            yield f"{legend(mark)} ({option})"


def _lines(records: Sequence[Any]) -> str:
    lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
    return "\n  " + ",\n  ".join(lines) + "\n" if lines else ""


def _width(output: Path | None) -> int:
    console = Console()
    return console.width if output is None and console.is_terminal else max(100, console.width)


def _plain(content: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, highlight=False, width=_width(Path()), no_color=True).print(content)
    return out.getvalue()
