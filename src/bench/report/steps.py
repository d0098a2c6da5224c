"""Steps as a matrix: a row for what is stepped with, a column for each step, so that a row shows where gains end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.statistics.findings import NEXT_K, Findings, Step


@dataclass(frozen=True)
class StepRow:
    """The steps of one system, or of one reranker."""

    system: str
    without: str | None
    steps: Sequence[Step | None]


@dataclass(frozen=True)
class Matrix:
    """Steps of one kind at one measure."""

    columns: Sequence[str]
    rows: Sequence[StepRow]
    reach: float
    """The largest end of an interval among them."""


def matrix(steps: Sequence[Step], facts: Findings) -> Matrix | None:
    """Steps of one kind and measure laid out; None without any."""
    if not steps:
        return None
    columns = {(step.k, _name(step)): None for step in steps}
    named = [name for _, name in sorted(columns, key=lambda column: (column[0], column[1]))]
    by_row: dict[tuple[str, str | None], dict[str, Step]] = {}
    for step in steps:
        by_row.setdefault((step.system, step.without), {})[_name(step)] = step
    order = {system: i for i, system in enumerate(facts.systems)}
    rows = [
        StepRow(system, without, [row.get(name) for name in named])
        for (system, without), row in sorted(by_row.items(), key=lambda one: order.get(one[0][0], 0))
    ]
    ends = [abs(end) for step in steps for end in (step.difference, *(step.interval or ()))]
    return Matrix(named, rows, max(*ends, 1e-9) if len(ends) > 1 else max(ends[0], 1e-9))


def _name(step: Step) -> str:
    """What the column of a step is called."""
    if step.kind == NEXT_K:
        return f"{step.from_label} → {step.to_label.removeprefix('k=')}"
    return f"k={step.k}"
