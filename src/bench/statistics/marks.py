"""Whether a printed figure could as well be another: by ties, or by what is not judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bench.grid import LENSES
from bench.measure import Measure
from bench.metrics import MEASURES


def marks(cell: Mapping[Any, Any], lens: str) -> str:
    """The marks of one lens in one cell of a grid, in the order of `SAID`."""
    if lens not in LENSES:
        return ""
    bounds = {end: cell.get(f"{lens}_{end}") for end in ("low", "high", "tie_lowest", "tie_highest")}
    return marks_of(MEASURES[lens], cell[lens], {**bounds, "judged": cell.get("judged")}, digits=3)


def marks_of(measure: Measure, value: float | None, row: Mapping[str, Any], *, digits: int) -> str:
    """The marks of a figure that is printed with so many digits, in the order of `SAID`.

    `row` has the bounds `low`, `high`, `tie_lowest` and `tie_highest`, the share `judged` and, where it was
    counted, `open_ties`. A `?` is about what stands within k. What is unjudged below k moves the low bound of
    recall in nearly every cell, and that of nDCG: recall is marked for its high bound alone, and every measure
    only where something within k is not judged.
    """
    if value is None:
        return ""
    printed = f"{value:.{digits}f}"

    def differs(*ends: str) -> bool:
        return any(_is_there(row.get(end)) and f"{row[end]:.{digits}f}" != printed for end in ends)

    judged: Any = row.get("judged")
    all_judged = _is_there(judged) and bool(judged >= 1)
    ends = ("high",) if measure.name == "recall" else ("low", "high")
    tied = bool(row.get("open_ties")) or differs("tie_lowest", "tie_highest")
    return ("~" if tied else "") + ("?" if not all_judged and differs(*ends) else "")


def _is_there(value: Any) -> bool:
    return value is not None and not math.isnan(value)
