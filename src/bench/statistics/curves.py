"""Quality against k: the rows of a grid as cells, and each measure of a system as a curve with its interval band."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.grid import MEASURE_COLUMNS, STAGES
from bench.metrics import MEASURES
from bench.statistics.figures import OK, Cell, Curve, Figure, Within
from bench.statistics.marks import marks

Row = Mapping[str, Any]
OPTIONS = ("retriever", "store", "embedder", "analyzer", "reranker")


def cells(rows: Sequence[Row]) -> tuple[Cell, ...]:
    """The rows of a grid (see `bench.grid.GRID`) that have a k, in their order."""
    return tuple(_cell(row) for row in rows if row["k"] is not None)


def within_budgets(rows: Sequence[Row]) -> tuple[Within, ...]:
    """The finished rows of a token budget, in their order."""
    return tuple(
        Within(
            system=row["system"],
            budget=row["budget"],
            values=_values(row),
            context_tokens=_number(row["context_tokens"]),
            context_chunks=_number(row["context_chunks"]),
            queries=row["queries"] or 0,
        )
        for row in rows
        if row["budget"] is not None and row["status"] == OK
    )


def curves(of: Sequence[Cell], measures: Sequence[str]) -> tuple[Curve, ...]:
    """Each of the measures against k, by system, from its cells; none of a measure without k or without values."""
    systems = list(dict.fromkeys(cell.system for cell in of if cell.status == OK))
    every = (_curve(of, measure, system) for measure in measures for system in systems)
    return tuple(curve for curve in every if curve.points)


def figure(mean: float | None, lo: float | None = None, hi: float | None = None, marks: str = "") -> Figure:
    """A figure in which NaN is nothing."""
    return Figure(mean=_number(mean), lo=_number(lo), hi=_number(hi), marks=marks)


def _curve(of: Sequence[Cell], measure: str, system: str) -> Curve:
    own = (cell for cell in of if cell.system == system and measure in cell.values)
    points = sorted(((cell.k, cell.values[measure]) for cell in own), key=lambda point: point[0])
    known = MEASURES[measure]
    return Curve(
        system=system,
        measure=measure,
        across_k=known.grows_with_k,
        points=tuple(points) if known.has_k else (),
    )


def _cell(row: Row) -> Cell:
    ok = row["status"] == OK
    return Cell(
        system=row["system"],
        k=row["k"],
        status=row["status"],
        reason=row["reason"],
        values=_values(row) if ok else {},
        context_tokens=_number(row["context_tokens"]),
        latency=_latency(row),
        latency_p95=_number(row["latency_p95_ms"]),
        latency_p99=_number(row["latency_p99_ms"]),
        stages=dict(_stages(row)),
        queries=row["queries"] or 0,
        no_relevant=row["no_relevant"] or 0,
        unanswered=row["unanswered"] or 0,
        options={name: row[name] for name in OPTIONS},
        parameters=json.loads(row["parameters"] or "{}"),
    )


def _values(row: Row) -> dict[str, Figure]:
    return {
        name: figure(row[name], row[f"{name}_lo"], row[f"{name}_hi"], marks(row, name))
        for name in MEASURE_COLUMNS
        if _number(row[name]) is not None
    }


def _latency(row: Row) -> Figure | None:
    name = "latency_p50_ms"
    if _number(row[name]) is None:
        return None
    return figure(row[name], row[f"{name}_lo"], row[f"{name}_hi"])


def _stages(row: Row) -> Iterator[tuple[str, float]]:
    for stage in STAGES:
        median = _number(row[f"latency_{stage}_p50_ms"])
        if median is not None:
            yield stage, median


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
