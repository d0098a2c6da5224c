"""The picture under a sweep's table: for each retriever a row a reranker, a column a k, and a bar beside each figure.

It shows what k and the reranker buy in the measure that may be compared across k. A bar goes from 0 to 1, and is
made of signs that any terminal has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from bench.metrics import MEASURES

BAR = 6
"""Signs in a full bar."""
LONGEST = 36
"""A name is cut beyond it."""
EIGHTHS = " ▏▎▍▌▋▊▉█"


def pictures(grid: pd.DataFrame, *, measures: Mapping[str, str]) -> Iterator[Picture]:
    """One for each collection with several systems and several k; `measures` names the column that each is drawn of."""
    for name, cells in grid.groupby("collection", sort=True):
        measure = measures.get(str(name), "recall")
        done = cells[(cells["status"] == "ok") & cells[measure].notna()]
        if done["system"].nunique() > 1 and done["k"].nunique() > 1:
            yield Picture(measure, tuple(cells.to_dict("records")))


@dataclass(frozen=True, eq=False)
class Picture:
    """The cells of one collection in one measure."""

    measure: str
    cells: Sequence[Mapping[Any, Any]]

    @cached_property
    def ks(self) -> list[int]:
        """Rising."""
        return sorted({int(cell["k"]) for cell in self.cells})

    @cached_property
    def rows(self) -> dict[str, dict[str, dict[int, Mapping[Any, Any]]]]:
        """The cells by retriever, reranker and k, in the order of the grid, no reranker first."""
        found: dict[str, dict[str, dict[int, Mapping[Any, Any]]]] = {}
        bare = [cell for cell in self.cells if cell["reranker"] == "none"]
        for cell in sorted(self.cells, key=lambda cell: cell["reranker"] != "none"):
            retriever = _retriever(cell, bare)
            rerankers = found.setdefault(retriever, {})
            rerankers.setdefault(_reranker(cell, retriever), {})[int(cell["k"])] = cell
        return dict(sorted(found.items()))

    @cached_property
    def best(self) -> dict[int, str]:
        """The highest figure at each k, as printed."""
        shown = {k: [f"{v:.3f}" for cell in self.cells if cell["k"] == k and _is_there(v := cell[self.measure])]
                 for k in self.ks}  # fmt: skip
        return {k: max(figures, default="") for k, figures in shown.items()}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many columns side by side as there is room for."""
        names = [
            name for retriever, rerankers in self.rows.items() for name in (retriever, *_indented(rerankers))
        ]
        label = min(max(map(len, names)), LONGEST)
        room = max(1, (options.max_width - label) // (BAR + 9))
        yield Text(f"{MEASURES[self.measure]}@k by k and reranker, bars from 0 to 1\n", style="bold")
        for start in range(0, len(self.ks), room):
            yield Text(
                "\n".join(self._lines(self.ks[start : start + room], label, plain=options.ascii_only)) + "\n"
            )

    def _lines(self, ks: Sequence[int], label: int, *, plain: bool) -> Iterator[str]:
        heads = "".join(f"  {f'k={k}':<{BAR + 7}}" for k in ks)
        yield f"{'':{label}}{heads}".rstrip()
        for retriever, rerankers in self.rows.items():
            yield _cut(retriever, label)
            for name, cells in zip(_indented(rerankers), rerankers.values(), strict=True):
                shown = "".join(f"  {self._cell(cells.get(k), plain=plain):<{BAR + 7}}" for k in ks)
                yield f"{_cut(name, label):{label}}{shown}".rstrip()

    def _cell(self, cell: Mapping[Any, Any] | None, *, plain: bool) -> str:
        if cell is None:
            return ""
        if cell["status"] != "ok" or not _is_there(cell[self.measure]):
            return "-" if cell["status"] == "ok" else str(cell["status"])
        figure = f"{cell[self.measure]:.3f}"
        star = "*" if figure == self.best[int(cell["k"])] else ""
        return f"{_bar(cell[self.measure], plain=plain)} {figure}{star}"


def _bar(share: float, *, plain: bool) -> str:
    """Of `BAR` signs, in eighths of one where the terminal has them."""
    if plain:
        return ("#" * round(share * BAR)).ljust(BAR, ".")
    eighths = round(share * BAR * 8)
    whole, rest = divmod(eighths, 8)
    return (EIGHTHS[8] * whole + (EIGHTHS[rest] if rest else "")).ljust(BAR)


def _retriever(cell: Mapping[Any, Any], bare: Sequence[Mapping[Any, Any]]) -> str:
    """The label of the system without a reranker that is else the same, or what that would be called."""
    own = _settings(cell)
    for other in bare if own else ():
        if other["retriever"] == cell["retriever"] and _settings(other).items() <= own.items():
            return str(other["system"])
    return str(cell["system"]).replace(f"+{cell['reranker']}", "", 1)


def _reranker(cell: Mapping[Any, Any], retriever: str) -> str:
    """The reranker, and what is said of the system that is not said of its retriever."""
    said = [word for word in _bracketed(str(cell["system"])) if word not in _bracketed(retriever)]
    return f"{cell['reranker']}({','.join(said)})" if said else str(cell["reranker"])


def _settings(cell: Mapping[Any, Any]) -> dict[str, str]:
    """The settings of every part of a system, each as text."""
    parameters = json.loads(cell.get("parameters") or "{}")
    return {name: json.dumps(value) for name, value in parameters.items() if name != "read_back"}


def _bracketed(label: str) -> list[str]:
    found = re.search(r"\((.*)\)$", label)
    return found[1].split(",") if found else []


def _indented(names: Mapping[str, object]) -> list[str]:
    return [f"  {name}" for name in names]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _is_there(value: Any) -> bool:
    return value is not None and not pd.isna(value)
