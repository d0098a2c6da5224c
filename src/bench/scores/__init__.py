"""Runs scored on one set of judgements, as tidy tables: a row a run and measure, and a row a query of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.evaluate import evaluate
from bench.gains import EMPTY, Array, Gains
from bench.join import join
from bench.measure import Measure
from bench.metrics import judged as judged_share
from bench.qrels import Qrels
from bench.runs import Run
from bench.scores.fitting import oddities, refuse_above, refuse_steep, refuse_unrelated
from bench.scores.trec_eval import as_trec_eval
from bench.statistics.intervals import mean_intervals
from bench.statistics.resampling import Resamples
from bench.ties import Ties, ties
from bench.unjudged.bounds import bounds
from bench.unjudged.world import World

COUNTS = ("queries", "unanswered", "no_relevant", "judged_queries", "unjudged_queries")
BOUNDS = ("low", "high", "tie_lowest", "tie_expected", "tie_highest")
MEASURE_ROWS = pa.schema(
    [(name, pa.string()) for name in ("run", "measure")]
    + [(name, pa.float64()) for name in ("mean", "lo", "hi")]
    + [(name, pa.int64()) for name in COUNTS]
    + [("open_ties", pa.int64())]
    + [(name, pa.float64()) for name in ("judged", *BOUNDS)]
)
"""One row a run and measure; bounds are null where there are none.

`judged` is the share of what came back within k. `open_ties` counts the queries with equal scores from within k to the
end of the stored list: what was cut off might share them.
"""
QUERY_ROWS = pa.schema(
    [(name, pa.string()) for name in ("run", "query_id", "measure")]
    + [(name, pa.float64()) for name in ("value", *BOUNDS)]
)
"""One row a run, judged query and measure; null where the mean leaves the query out."""

Cell = tuple[Measure, int | None]
"""A measure and its cut-off, None where it has none."""
WHOLE = 1
"""The cut-off that a measure without one is asked for; it does not look at it."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """By what runs are scored."""

    cells: tuple[Cell, ...]
    max_grade: float | None = None
    """The top of the scale of grades, by default the highest given."""
    no_relevant_is_zero: bool = False
    """Queries without a relevant document count 0 and are not left out of the means."""
    trec_eval: bool = False
    """Where the rules of trec_eval are not ours, they hold."""


@dataclass(frozen=True, eq=False)
class Scores:
    """What runs are worth, and what the user should hear of it."""

    measures: pa.Table
    per_query: pa.Table
    notes: tuple[str, ...]


def score(
    runs: Mapping[str, Run], qrels: Qrels, *, rules: Rules, needs: Mapping[str, str] | None = None
) -> Scores:
    """Score every run, by name, on the same judgements. BenchError where one answers none of their queries.

    `needs` gives the need of queries that share one, which intervals then draw together.
    """
    refuse_above(qrels, rules.max_grade)
    refuse_steep(qrels, rules.max_grade, [measure for measure, _ in rules.cells])
    measures, per_query, notes = [], [], []
    resamples: dict[tuple[str, ...], Resamples] = {}
    world = _world(runs, qrels, rules)
    for name, run in runs.items():
        refuse_unrelated(name, run, qrels)
        one = _scored(run, runs, world, rules)
        if one.queries not in resamples:
            resamples[one.queries] = Resamples.of([(needs or {}).get(query, query) for query in one.queries])
        measures.append(_measures(name, one, resamples[one.queries], rules))
        per_query.append(_per_query(name, one, rules))
        notes += [f"{name}: {note}" for note in one.notes]
    return Scores(pa.concat_tables(measures), pa.concat_tables(per_query), tuple(notes))


def shown(cell: Cell) -> str:
    """A measure with its cut-off as it is printed."""
    measure, k = cell
    return str(measure) if k is None else measure.at(k)


@dataclass(frozen=True, eq=False)
class _Scored:
    """One run on one set of judgements: values and their bounds [q, cells], NaN where a mean leaves a query out."""

    queries: tuple[str, ...]
    values: Array
    bounds: Mapping[str, Array]
    counts: Mapping[str, npt.NDArray[np.int64]]
    """By name, [cells]."""
    judged: Array
    """The share of what came back within k that is judged, [cells]."""
    notes: tuple[str, ...]


def _world(runs: Mapping[str, Run], qrels: Qrels, rules: Rules) -> World:
    """Whatever one of the runs has found might be relevant where it is not judged."""
    return World.of_pool(list(runs.values()), qrels, max_grade=rules.max_grade)


def _scored(run: Run, runs: Mapping[str, Run], world: World, rules: Rules) -> _Scored:
    qrels, missing, notes = world.qrels, 0, list[str]()
    judged = qrels.judged_queries
    unjudged = len(set(run.queries) - set(judged))
    if rules.trec_eval:
        seen = as_trec_eval(run, qrels)
        run, qrels, missing, notes = seen.run, seen.qrels, len(seen.missing), list(seen.told())
        world = _world(runs, qrels, rules)
    values, gains = _values(run, qrels, rules)
    tied = ties(run, qrels, max_grade=rules.max_grade)
    bounds = _bounds(run, world, tied, rules, values)
    open_ties = [
        int((tied.open(k or max(1, run.depth)) & ~np.isnan(values[:, i])).sum())
        for i, (_, k) in enumerate(rules.cells)
    ]
    empty = gains.status[:, 0] == EMPTY
    relevant = np.stack([gains.total(rel=measure.rel) for measure, _ in rules.cells], axis=1)
    over_all = np.array([measure.name == "judged" for measure, _ in rules.cells])
    nothing = ((relevant == 0) | np.isnan(values)) & ~over_all
    cells = np.ones(len(rules.cells), np.int64)
    counts = {
        "queries": (~np.isnan(values)).sum(axis=0),
        "unanswered": (empty[:, np.newaxis] & ~nothing).sum(axis=0) + missing,
        "no_relevant": nothing.sum(axis=0),
        "judged_queries": len(judged) * cells,
        "unjudged_queries": unjudged * cells,
        "open_ties": np.array(open_ties, np.int64),
    }
    if max(open_ties, default=0):
        notes.append(
            f"{max(open_ties)} queries: equal scores at the end of the stored list; what was cut off might share them"
        )
    notes += oddities(run, qrels, gains, largest_k=max(k or WHOLE for _, k in rules.cells))
    shares = [judged_share.compute(gains, k or max(1, run.depth)) for _, k in rules.cells]
    share = _means(np.stack(shares, axis=1))
    return _Scored(qrels.judged_queries, values, bounds, counts, share, tuple(notes))


def _values(run: Run, qrels: Qrels, rules: Rules) -> tuple[Array, Gains]:
    """The values [q, cells] and the gains that they come from; every measure at its own cut-offs alone."""
    ks: dict[Measure, tuple[int, ...]] = {}
    for measure, k in rules.cells:
        ks[measure] = (*ks.get(measure, ()), k or WHOLE)
    found = {
        cut: evaluate(
            run,
            qrels,
            ks=cut,
            measures=[measure for measure, own in ks.items() if own == cut],
            max_grade=rules.max_grade,
            no_relevant_is_zero=rules.no_relevant_is_zero or rules.trec_eval,
        )
        for cut in dict.fromkeys(ks.values())
    }
    columns = [found[ks[measure]].values[measure.key, k or WHOLE] for measure, k in rules.cells]
    return np.stack(columns, axis=1), join(run, qrels, max_grade=rules.max_grade)


def _bounds(run: Run, world: World, tied: Ties, rules: Rules, values: Array) -> dict[str, Array]:
    """What bounds each value, by name, [q, cells]; NaN where a measure has no such bound."""
    standing = world.standing(run)
    of_world = [bounds(measure, standing, k or WHOLE) for measure, k in rules.cells]
    of_ties = {"tie_lowest": tied.lowest, "tie_expected": tied.expected, "tie_highest": tied.highest}
    return {
        "low": _columns([None if one is None else one.low for one in of_world], values),
        "high": _columns([None if one is None else one.high for one in of_world], values),
        **{
            name: _columns([bound(measure, k or WHOLE) for measure, k in rules.cells], values)
            for name, bound in of_ties.items()
        },
    }


def _columns(found: Sequence[Array | None], values: Array) -> Array:
    """One bound of every cell. A query that has none and counts, by the rules, is bounded by its value."""
    columns = np.full(values.shape, np.nan)
    for i, column in enumerate(found):
        if column is not None:
            columns[:, i] = np.where(np.isnan(column), values[:, i], column) + 0.0  # no -0
    return columns


def _measures(name: str, one: _Scored, resamples: Resamples, rules: Rules) -> pa.Table:
    means = {what: _means(table) for what, table in one.bounds.items()}
    intervals = mean_intervals(one.values, resamples)
    columns: dict[str, Any] = {
        "run": [name] * len(rules.cells),
        "measure": [shown(cell) for cell in rules.cells],
        "mean": _means(one.values),
        "lo": intervals.lo,
        "hi": intervals.hi,
        **one.counts,
        "judged": one.judged,
        **means,
    }
    return _table(columns, MEASURE_ROWS)


def _per_query(name: str, one: _Scored, rules: Rules) -> pa.Table:
    queries, cells = one.values.shape
    columns: dict[str, Any] = {
        "run": [name] * one.values.size,
        "query_id": np.repeat(np.array(one.queries, object), cells),
        "measure": [shown(cell) for cell in rules.cells] * queries,
        "value": one.values.ravel(),
        **{what: table.ravel() for what, table in one.bounds.items()},
    }
    return _table(columns, QUERY_ROWS)


def _means(values: Array) -> Array:
    """By cell, NaN where no query counts."""
    counted = ~np.isnan(values)
    sums = np.where(counted, values, 0.0).sum(axis=0)
    means: Array = np.divide(
        sums, counted.sum(axis=0), out=np.full(len(sums), np.nan), where=counted.any(axis=0)
    )
    return means


def _table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """A table of these columns, NaN as null."""
    return pa.table([pa.array(columns[f.name], f.type, from_pandas=True) for f in schema], schema=schema)
