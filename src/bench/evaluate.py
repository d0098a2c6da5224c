"""Gains into values: every query first, the mean once and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError
from bench.gains import EMPTY, Array, Gains
from bench.join import join
from bench.measure import Measure
from bench.qrels import Qrels
from bench.runs import Run


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one run: every judged query, every cut-off, every measure.

    A judged query that the run does not answer counts 0; one without a relevant document is left out of the
    means (NaN) and counted, except by Judged, which needs no relevant document.
    """

    queries: tuple[str, ...]
    """The judged queries, ascending."""
    values: Mapping[tuple[str, int], Array]
    """By key of the measure (its column, or as printed) and k: float64 [q], NaN where a query is left out."""
    gains: Gains
    """What the measures saw: the places of the largest k, all of them where a measure has no k."""
    unanswered: npt.NDArray[np.bool_]
    """Judged queries with something relevant for which nothing came back, [q]."""

    def mean(self, measure: str, k: int) -> float | None:
        """The mean over the queries that count, None where none does."""
        values = self.values[measure, k]
        counted = values[~np.isnan(values)]
        return float(counted.mean()) if len(counted) else None

    def counted(self, measure: str, k: int) -> int:
        """Over how many queries the mean is."""
        return int((~np.isnan(self.values[measure, k])).sum())

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in the order they were asked for."""
        return tuple(dict.fromkeys(name for name, _ in self.values))

    @cached_property
    def no_relevant(self) -> int:
        """Judged queries without a relevant document, which the means leave out."""
        return int((self.gains.total() == 0).sum())


def evaluate(
    run: Run,
    qrels: Qrels,
    *,
    ks: Sequence[int],
    measures: Sequence[Measure],
    max_grade: float | None = None,
    no_relevant_is_zero: bool = False,
) -> Evaluation:
    """Every measure at every k; places beyond the run's depth are empty.

    `max_grade` is the top of the scale of grades (by default the highest given). With `no_relevant_is_zero`
    the queries without a relevant document count 0, as in trec_eval, and are not left out.
    """
    if not len(qrels):
        raise BenchError("there is no judgement, so nothing can be measured")
    deepest = max(ks, default=1)
    whole = not all(measure.has_k for measure in measures)
    gains = join(run, qrels, max_grade=max_grade, depth=None if whole else deepest)
    shallow = gains.top(deepest) if whole else gains
    values = {}
    for measure in measures:
        kept = counts(measure, shallow)
        left_out = 0.0 if no_relevant_is_zero else np.nan
        for k in ks:
            seen = shallow if measure.has_k else gains
            values[measure.key, k] = np.where(kept, measure(seen, k), left_out)
    unanswered = (gains.total() > 0) & (gains.status[..., 0] == EMPTY)
    return Evaluation(qrels.judged_queries, values, gains, unanswered)


def counts(measure: Measure, gains: Gains) -> npt.NDArray[np.bool_]:
    """Which queries count in the mean of a measure, [q]: those with something relevant to it; of Judged all."""
    if measure.name == "judged":
        return np.full(len(gains.ideal), True)
    return np.asarray(gains.total(rel=measure.rel) > 0)
