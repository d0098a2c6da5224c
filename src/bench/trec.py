"""Runs in the form of TREC: query Q0 document rank score tag, one hit a line."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa

from bench.errors import BenchError
from bench.lines import Problems, lines

COLUMNS = "query Q0 document rank score tag"


def read_run(path: Path) -> pa.Table:
    """The hits of a run file, plain or gzipped (.gz): query_id, doc_id and score, in the file's order.

    Columns are parted by blanks or tabs, as many as there are; blank lines and lines that begin with # are
    passed over. Scores may be infinite. As in trec_eval the rank column is not looked at: scores order a
    ranking. BenchError lists all lines that are broken, a score that is NaN among them.
    """
    if not path.is_file():
        raise BenchError(f"there is no file {path}")
    problems = Problems()
    queries: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    for number, line in lines(path, problems):
        if line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) != 6:
            problems.add(path, number, f"{len(fields)} columns, not the 6 of a run ({COLUMNS})")
            continue
        score = _number(fields[4])
        if math.isnan(score):
            problems.add(path, number, f"'{fields[4]}' is no score")
            continue
        queries.append(fields[0])
        docs.append(fields[2])
        scores.append(score)
    if not queries and not problems:
        problems.add(path, 0, "it holds no hit")
    problems.raise_any(f"run {path}")
    return pa.table(
        {
            "query_id": pa.array(queries, pa.string()),
            "doc_id": pa.array(docs, pa.string()),
            "score": pa.array(scores, pa.float64()),
        }
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
