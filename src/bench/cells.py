"""What judgements decide of a job: the measures and counts of its cells, and the values of its queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bench.budget import evaluate_within
from bench.collection import Collection
from bench.evaluate import Evaluation, evaluate
from bench.grid import LENSES, MEASURE_COLUMNS, counts_own, per_query_table
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.runs import Run
from bench.statistics.intervals import mean_intervals
from bench.statistics.resampling import Resamples
from bench.ties import Ties, ties

COUNTS = ("queries", "no_relevant", "unanswered", "judged_queries", "unjudged_queries")
DECIDED = frozenset(
    [*COUNTS, *(f"{name}{end}" for name in MEASURE_COLUMNS for end in ("", "_lo", "_hi", "_low", "_high"))]
    + [f"{name}_queries" for name in MEASURE_COLUMNS if counts_own(name)]
    + ["tied_queries", *(f"{name}_tie_{end}" for name in LENSES for end in ("lowest", "highest"))]
)
"""The columns of the grid that other judgements change."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A run on the judgements of its collection: its values at every k, and within every token budget."""

    ks: tuple[int, ...]
    budgets: tuple[int, ...]
    at: Evaluation
    within: Evaluation
    needs: tuple[str, ...]
    """The need of each judged query."""
    ties: Ties

    @classmethod
    def of(
        cls,
        run: Run,
        collection: Collection,
        *,
        ks: Sequence[int],
        budgets: Sequence[int],
        measures: Sequence[Measure],
    ) -> Cells:
        """Evaluate a run over the vocabulary of the collection."""
        qrels, scale = collection.qrels, collection.max_grade
        at = evaluate(run, qrels, ks=ks, measures=measures, max_grade=scale)
        within = at
        if budgets:
            lengths = collection.doc_tokens
            within = evaluate_within(
                run, qrels, lengths=lengths, budgets=budgets, measures=measures, max_grade=scale
            )
        need = {query.id: query.need for query in collection.queries}
        needs = tuple(need.get(query, query) for query in at.queries)
        tied = ties(run, qrels, max_grade=scale)
        return cls(tuple(ks), tuple(budgets), at, within, needs, tied)

    def rows(self, queries: Sequence[str]) -> list[dict[str, Any]]:
        """The k or budget of each cell, its means with their intervals, its counts; `queries` are those asked."""
        rows = [
            *(
                {"k": k, "budget": None, **measured(self.at, k, queries=queries), **self._tied(k)}
                for k in self.ks
            ),
            *({"k": None, "budget": b, **measured(self.within, b, queries=queries)} for b in self.budgets),
        ]
        return [{**row, **ends} for row, ends in zip(rows, self._intervals(), strict=True)]

    def _tied(self, k: int) -> dict[str, float]:
        """What another order of equal scores could make of the lenses that were computed."""
        ends = {"lowest": self.ties.lowest, "highest": self.ties.highest}
        found: dict[str, float] = {"tied_queries": int(self.ties.decisive(k).sum())}
        for name in (name for name in LENSES if name in self.at.measures):
            for end, bound in ends.items():
                values = bound(MEASURES[name], k)
                if values is not None and not np.isnan(values).all():
                    found[f"{name}_tie_{end}"] = float(np.nanmean(values))
        return found

    def _intervals(self) -> Iterator[dict[str, float]]:
        """The ends of the intervals of each row, all on the same resamples; none where there are too few needs."""
        names = self.at.measures
        cuts = [*((self.at, k) for k in self.ks), *((self.within, budget) for budget in self.budgets)]
        values = np.stack([one.values[name, cut] for one, cut in cuts for name in names], axis=1)
        found = mean_intervals(values, Resamples.of(self.needs))
        for row in range(len(cuts)):
            own = ((name, found.at(row * len(names) + column)) for column, name in enumerate(names))
            yield {
                f"{name}_{end}": getattr(interval, end)
                for name, interval in own
                if interval is not None
                for end in ("lo", "hi")
            }

    def per_query(self, cell: Mapping[str, Any]) -> pa.Table:
        """The values of every judged query in every cell; `cell` holds system_id, collection and seed."""
        tables = [_per_query(self.at, self.ks, cell, by="k")]
        if self.budgets:
            tables.append(_per_query(self.within, self.budgets, cell, by="budget"))
        return pa.concat_tables(tables)


def measured(evaluation: Evaluation, k: int, *, queries: Sequence[str]) -> dict[str, Any]:
    """The means and counts of the cell at k, or at the budget; `queries` are those that were asked."""
    values: dict[str, Any] = {}
    for name in evaluation.measures:
        values[name] = evaluation.mean(name, k)
        if counts_own(name):
            values[f"{name}_queries"] = evaluation.counted(name, k)
    return {
        **values,
        "queries": int((evaluation.gains.total() > 0).sum()),
        "no_relevant": evaluation.no_relevant,
        "unanswered": int(evaluation.unanswered.sum()),
        "judged_queries": len(evaluation.queries),
        "unjudged_queries": len(set(queries) - set(evaluation.queries)),
    }


def _per_query(
    evaluation: Evaluation, cuts: Sequence[int], cell: Mapping[str, Any], *, by: Literal["k", "budget"]
) -> pa.Table:
    count = len(evaluation.queries) * len(cuts)
    columns: dict[str, Any] = {
        **{name: [cell[name]] * count for name in ("system_id", "collection", "seed")},
        "query_id": list(evaluation.queries) * len(cuts),
        by: np.repeat(cuts, len(evaluation.queries)),
    }
    for name in evaluation.measures:
        columns[name] = np.concatenate([evaluation.values[name, cut] for cut in cuts])
    return per_query_table(columns)
