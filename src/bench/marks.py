"""What is put behind a printed figure that could as well be another: by ties, or by what is not judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.grid import LENSES

SAID = {
    "~": "another order of equal scores could change it",
    "?": "what is not judged within its k could change it",
}
"""The marks, and what they say."""


def marks(cell: Mapping[Any, Any], lens: str) -> str:
    """The marks of one lens in one cell of a grid, in the order of `SAID`.

    A `?` is about what stands in the ranking. What is unjudged below k moves the low bound of recall in nearly
    every cell, and that of nDCG: recall is marked for its high bound alone, and nDCG only where something within
    k is not judged.
    """
    if lens not in LENSES:
        return ""
    tied = _differs(cell, lens, (f"{lens}_tie_lowest", f"{lens}_tie_highest"))
    ends = {"recall": ("high",), "ndcg": ("low", "high") if _has_unjudged(cell) else ()}
    unjudged = _differs(cell, lens, [f"{lens}_{end}" for end in ends.get(lens, ("low", "high"))])
    return ("~" if tied else "") + ("?" if unjudged else "")


def legend(shown: str) -> str | None:
    """One line about the marks among these characters, None where there are none."""
    said = [f"{mark} {meaning}" for mark, meaning in SAID.items() if mark in shown]
    return "; ".join(said) or None


def _differs(cell: Mapping[Any, Any], lens: str, bounds: Sequence[str]) -> bool:
    """Whether a bound of the figure is printed otherwise."""
    value = cell[lens]
    return any(_is_there(cell.get(name)) and f"{cell[name]:.3f}" != f"{value:.3f}" for name in bounds)


def _has_unjudged(cell: Mapping[Any, Any]) -> bool:
    """Whether a place within k is not judged, as far as that was measured."""
    judged: Any = cell.get("judged")
    return not _is_there(judged) or bool(judged < 1)


def _is_there(value: Any) -> bool:
    return value is not None and not math.isnan(value)
