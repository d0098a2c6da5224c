"""What each step buys and costs: from a k to the next, and from no reranker to one.

From one k to the next only the measures that cannot fall as k grows are compared. All steps are exploratory. They
are tested at one measure each, and those tests are corrected together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.gains import Array
from bench.metrics import MEASURES
from bench.statistics.figures import NEXT_K, RERANKER, Cell, Step
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, paired_tests
from bench.statistics.verdicts import Verdict, verdicts


def steps(
    panel: Panel,
    cells: Sequence[Cell],
    *,
    measures: Sequence[str],
    measure: str,
    deciding: str,
    reranked: Sequence[tuple[str, str]],
    resamples: Resamples,
    alpha: float = 0.05,
) -> tuple[Step, ...]:
    """Every step of these systems at these measures that the panel has values for.

    `reranked` names pairs of systems, without a reranker and with it. First the steps of k, by system, k and
    measure, then those of rerankers, by pair, k and measure. `resamples` are of the panel's needs. Steps of k are
    tested at the measure `deciding` on k, rerankers at the `measure` of the report; all steps have an interval.
    """
    by_kind = {NEXT_K: deciding, RERANKER: measure}
    systems = [system for system in panel.systems if any(cell.system == system for cell in cells)]
    known = {(cell.system, cell.k): cell for cell in cells if cell.values}
    made = [*_of_k(panel, systems, known, measures), *_of_rerankers(panel, known, measures, reranked)]
    pairs = [(move, _pair(panel, move)) for move in made]
    counted = [(move, pair) for move, pair in pairs if not np.isnan(pair).all()]
    if not counted:
        return ()
    differences = np.stack([pair[:, 1] - pair[:, 0] for _, pair in counted], axis=1)
    judged = verdicts(
        differences,
        resamples,
        subjects=[move.subject for move, _ in counted],
        measures=[MEASURES[move.measure].at(move.k) for move, _ in counted],
    )
    tested = [move.measure == by_kind[move.kind] for move, _ in counted]
    corrected = _corrected(differences, panel.needs, tested, alpha=alpha)
    return tuple(
        _step(move, pair, known, verdict=verdict, corrected=p, among=sum(tested))
        for (move, pair), verdict, p in zip(counted, judged, corrected, strict=True)
    )


@dataclass(frozen=True)
class _Move:
    """From one cell to another, at one measure."""

    kind: str
    measure: str
    before: tuple[str, int]
    after: tuple[str, int]

    @property
    def k(self) -> int:
        return self.after[1]

    @property
    def labels(self) -> tuple[str, str]:
        if self.kind == NEXT_K:
            return f"k={self.before[1]}", f"k={self.after[1]}"
        return self.before[0], self.after[0]

    @property
    def subject(self) -> str:
        first, second = self.labels
        return f"{self.after[0]} with {second} in place of {first}" if self.kind == NEXT_K else second


def _of_k(
    panel: Panel,
    systems: Sequence[str],
    known: Mapping[tuple[str, int], Cell],
    measures: Sequence[str],
) -> Iterator[_Move]:
    growing = [name for name in measures if MEASURES[name].grows_with_k]
    for system in systems:
        ks = sorted(k for one, k in known if one == system)
        for smaller, larger in pairwise(ks):
            for name in growing:
                if {(name, smaller), (name, larger)} <= panel.values.keys():
                    yield _Move(NEXT_K, name, (system, smaller), (system, larger))


def _of_rerankers(
    panel: Panel,
    known: Mapping[tuple[str, int], Cell],
    measures: Sequence[str],
    reranked: Sequence[tuple[str, str]],
) -> Iterator[_Move]:
    for without, system in reranked:
        for k in sorted(k for one, k in known if one == system and (without, k) in known):
            for name in measures:
                if (name, k) in panel.values:
                    yield _Move(RERANKER, name, (without, k), (system, k))


def _pair(panel: Panel, move: _Move) -> Array:
    """Before and after, [q, 2], NaN where one of them has no value."""
    pair = np.stack(
        [panel.values[move.measure, k][:, panel.column(system)] for system, k in (move.before, move.after)],
        axis=1,
    )
    return np.asarray(np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair))


def _corrected(
    differences: Array, needs: Sequence[str], tested: Sequence[bool], *, alpha: float
) -> list[float | None]:
    """p of each column, corrected over those that are tested; None for the others."""
    columns = [i for i, here in enumerate(tested) if here]
    tests = paired_tests(differences[:, columns], needs, alpha=alpha) if columns else ()
    p = benjamini_hochberg(np.array([test.p for test in tests]))
    found = dict(zip(columns, p.tolist(), strict=True))
    return [found.get(i) for i in range(len(tested))]


def _step(
    move: _Move,
    pair: Array,
    known: Mapping[tuple[str, int], Cell],
    *,
    verdict: Verdict,
    corrected: float | None,
    among: int,
) -> Step:
    before, after = known[move.before], known[move.after]
    means = np.nanmean(pair, axis=0)
    shown = verdict.evidence
    return Step(
        kind=move.kind,
        system=move.after[0],
        without=move.before[0] if move.kind == RERANKER else None,
        from_label=move.labels[0],
        to_label=move.labels[1],
        k=move.k,
        measure=move.measure,
        before=float(means[0]),
        after=float(means[1]),
        difference=shown.difference,
        interval=(shown.interval.lo, shown.interval.hi) if shown.interval else None,
        verdict=verdict,
        corrected=corrected,
        among=among,
        extra_ms=_more(_median(before), _median(after)),
        extra_tokens=_more(before.context_tokens, after.context_tokens),
    )


def _median(cell: Cell) -> float | None:
    return cell.latency.mean if cell.latency else None


def _more(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
