"""The rows and columns of a table for a paper, chosen, and what is said above and below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from bench.errors import BenchError, did_you_mean
from bench.grid import MEASURE_COLUMNS
from bench.metrics import MEASURES
from bench.report.words import Words
from bench.statistics.findings import OK, Cell, Findings

JUDGED = "judged"
"""A measure of the judgements: no system is the best in it."""
BETTER, WORSE = "†", "‡"
_TEXTS = {
    "system": ("System", "Sistema"),
    "caption": (
        "Retrieval on {0}: means over {1} queries.",
        "Recuperación en {0}: medias sobre {1} consultas.",
    ),
    "best": ("The best at each k is bold.", "En negrita, lo mejor de cada k."),
    "tested": (
        "† better and ‡ worse than {0} in {1} (p ≤ {2}, paired randomisation test, Holm over {3}).",
        "† mejor y ‡ peor que {0} en {1} (p ≤ {2}, prueba pareada de aleatorización, Holm sobre {3}).",
    ),
}


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows and columns of one collection's table."""

    of: Findings
    rows: Sequence[str]
    """Systems."""
    columns: Sequence[str]
    """Measures, by their column in the grid."""
    costs: bool
    """Whether the median latency stands behind them."""
    words: Words

    @cached_property
    def groups(self) -> list[list[Cell]]:
        """The cells of each k, k rising, in the order of the rows."""
        place = {system: i for i, system in enumerate(self.rows)}
        cells = [cell for cell in self.of.cells if cell.system in place]
        ordered = sorted(cells, key=lambda cell: (cell.k, place[cell.system]))
        return [list(group) for _, group in groupby(ordered, key=lambda cell: cell.k)]

    @property
    def head(self) -> list[str]:
        """Of the columns of figures."""
        measures = [
            f"{MEASURES[name]}@k" if MEASURES[name].has_k else str(MEASURES[name]) for name in self.columns
        ]
        return [*measures, *["ms"] * self.costs]

    def printed(self, cell: Cell, measure: str) -> str:
        """A figure, rounded."""
        figure = cell.values.get(measure)
        return self.words.number(figure.mean if figure else None)

    def best(self, group: Sequence[Cell]) -> dict[str, str]:
        """The highest figure of each measure at one k, as printed, where there are two to compare."""
        found = {}
        for measure in self.columns:
            known = [f.mean for cell in group if (f := cell.values.get(measure)) and f.mean is not None]
            if len(known) > 1 and measure != JUDGED:
                found[measure] = self.words.number(max(known))
        return found

    def mark(self, cell: Cell, measure: str) -> str:
        """What the test against the baseline says of a figure."""
        change = self.of.significance.get(cell.system)
        tested = change is not None and (measure, cell.k) == (self.of.measure, self.of.k)
        if change is None or not tested or not change.significant or not change.difference:
            return ""
        return BETTER if change.difference > 0 else WORSE

    @property
    def caption(self) -> list[str]:
        """What must be known to read the table, a sentence each."""
        counts = sorted({cell.queries for cell in self.of.cells if cell.status == OK})
        queries = "–".join(map(str, dict.fromkeys([counts[0], counts[-1]]))) if counts else "0"
        said = [self._said("caption", self.of.collection, queries)]
        if any(self.best(group) for group in self.groups):
            said.append(self._said("best"))
        if tests := list(self.of.significance.values()):
            alpha = self.words.tick(tests[0].alpha)
            said.append(self._said("tested", self.of.baseline, self.of.printed, alpha, tests[0].among))
        return said

    @property
    def reasons(self) -> list[str]:
        """Why cells of the rows have no figures."""
        wrong = [cell for group in self.groups for cell in group if cell.status != OK]
        return list(dict.fromkeys(f"{cell.system}: {cell.status}: {cell.reason}" for cell in wrong))

    def _said(self, name: str, *values: object) -> str:
        return _TEXTS[name][self.words.lang == "es"].format(*values)

    @property
    def system(self) -> str:
        """The head of the systems."""
        return self._said("system")


def chosen(
    findings: Sequence[Findings], rows: Sequence[str] | None, columns: Sequence[str] | None, lang: str
) -> list[Chosen]:
    """The table of every collection; BenchError for a system or measure that none has, with all of them at once."""
    systems = list(dict.fromkeys(cell.system for one in findings for cell in one.cells))
    measures = list(dict.fromkeys(name for one in findings for name in one.measures))
    unknown = [f"no system '{row}'{did_you_mean(row, systems)}" for row in rows or () if row not in systems]
    for name in columns or ():
        if name not in measures:
            known = [name for name in MEASURE_COLUMNS if name in measures]
            unknown.append(f"no value of '{name}'{did_you_mean(name, known)}")
    if unknown:
        raise BenchError(f"the table cannot be made: there is {'; '.join(unknown)}")
    return [
        Chosen(
            one, rows or _systems(one), columns or _usual(one), columns is None and _timed(one), Words(lang)
        )
        for one in findings
    ]


def _systems(findings: Findings) -> list[str]:
    return list(dict.fromkeys([*findings.systems, *(cell.system for cell in findings.cells)]))


def _usual(findings: Findings) -> list[str]:
    beside = [name for name in ("complete", JUDGED) if name in findings.measures]
    return [*(name for name in findings.lenses if name in findings.measures), *beside]


def _timed(findings: Findings) -> bool:
    return any(cell.latency is not None for cell in findings.cells)
