"""One collection of a folder surveyed: every fact that its report tells, from its cells, values and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.collection import Collection
from bench.grid import LENSES
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.references import references
from bench.runs import Run
from bench.statistics.advice import deciding_measure
from bench.statistics.answer import Answer
from bench.statistics.change import Change
from bench.statistics.comparison import compare
from bench.statistics.curves import cells, curves, within_budgets
from bench.statistics.figures import ACROSS_K, Cell
from bench.statistics.findings import Findings, Size
from bench.statistics.front import fronts
from bench.statistics.margins import steps
from bench.statistics.overview import Overview, Reranked, overview
from bench.statistics.panel import Panel
from bench.statistics.per_query import Room, documents, hardest_first, query_rankings
from bench.statistics.rankings import Rankings
from bench.statistics.resampling import Resamples
from bench.statistics.slices import interactions, keys, slices

FIRST = (*LENSES, "complete")
"""The measures that everything is told of; the others stand in the cells and curves."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Material:
    """What a folder holds of one collection, under one seed."""

    panel: Panel
    """Of the systems with a finished cell, in the order of the grid."""
    rows: Sequence[Mapping[str, Any]]
    """Every row of the grid, by the labels of the panel."""
    runs: Mapping[str, Run]
    """The rankings of each system over all queries and the documents of the collection."""
    collection: Collection
    """Its queries, its judgements, and those of its documents that a run or a judgement names."""
    documents: int
    """How many the corpus has."""
    reranked: Sequence[tuple[str, str]]
    """Pairs of systems that differ by a reranker alone: without it, with it."""
    failed: Mapping[str, str]
    """Why a system has a cell that failed or was skipped."""
    notes: Sequence[str]


def survey(
    of: Material, measure: Measure, *, k: int, baseline: str, room: Room, alpha: float = 0.05
) -> Findings:
    """The findings, tested at one measure and k, at which the panel has values of the baseline."""
    panel, every = of.panel, cells(of.rows)
    resamples = Resamples.of(panel.needs)
    tested = _tested(panel, measure, k)
    measures = _measures(every)
    first = [name for name in FIRST if name in measures]
    found = _overview(of, tested, measure, k=k, alpha=alpha)
    of_metadata = keys(of.collection.queries, panel.queries)
    depth = room.depth(len(panel.systems) * len(panel.queries))
    rankings = query_rankings(of.runs, of.collection, panel.queries, depth=depth, k=k)
    return Findings(
        collection=of.collection.name,
        measure=measure.key,
        printed=measure.at(k),
        k=k,
        lenses=LENSES,
        measures=measures,
        names={name: str(MEASURES[name]) for name in measures},
        across_k=tuple(name for name in measures if name in ACROSS_K),
        deciding=deciding_measure(of.collection.qrels).key,
        ks=tuple(sorted({cell.k for cell in every})),
        systems=panel.systems,
        baseline=baseline,
        cells=every,
        within=within_budgets(of.rows),
        curves=curves(every, measures),
        fronts=fronts(panel, every, measures=first, resamples=resamples),
        steps=steps(
            panel,
            every,
            measures=first,
            measure=measure.key,
            deciding=deciding_measure(of.collection.qrels).key,
            reranked=of.reranked,
            resamples=resamples,
            alpha=alpha,
        ),
        slices=slices(panel, of_metadata, measures=first, measure=measure.key, k=k, resamples=resamples),
        interactions=interactions(tested.at(measure, k), panel.needs, of_metadata, alpha=alpha),
        ranked=hardest_first(panel, of.collection, measures=first, measure=measure.key, k=k),
        rankings=rankings,
        rankings_depth=depth,
        depths={row["system"]: row["depth"] for row in of.rows if row["system"] in panel.systems},
        documents=documents(rankings, of.collection, room=room),
        answer=_answer(found, every, k=k),
        overview=found,
        significance=_significance(tested, measure, k=k, baseline=baseline, resamples=resamples, alpha=alpha),
        references=_references(of, {cell.k for cell in every}),
        failed=tuple(of.failed.items()),
        size=_size(of),
        notes=tuple(of.notes),
    )


def _tested(panel: Panel, measure: Measure, k: int) -> Panel:
    """The systems that have a value at the measure and k."""
    known = np.asarray(~np.isnan(panel.at(measure, k)).all(axis=0))
    return panel.only([system for system, here in zip(panel.systems, known, strict=True) if here])


def _overview(of: Material, tested: Panel, measure: Measure, *, k: int, alpha: float) -> Overview | None:
    """None where no query has a value from every system: then there is nothing to compare."""
    values = tested.at(measure, k)
    if not len(tested.systems) or np.isnan(values).any(axis=1).all():
        return None
    runs = {system: of.runs[system] for system in tested.systems}
    return overview(
        tested,
        measure,
        k=k,
        rankings=Rankings(runs, of.collection, of.documents),
        reranked=of.reranked,
        alpha=alpha,
        notes=of.notes,
    )


def _answer(found: Overview | None, every: Sequence[Cell], *, k: int) -> Answer:
    if found is None:
        return Answer(overview=None, advised=None, reranked=None, extra_ms=None)
    first = found.standings.places[0].system
    spoken = _spoken_of(found.reranked, first)
    return Answer(
        overview=found,
        advised=first if first in found.advice else None,
        reranked=spoken,
        extra_ms=_extra(spoken, every, k) if spoken else None,
    )


def _extra(spoken: Reranked, every: Sequence[Cell], k: int) -> float | None:
    """What the reranker adds to the median of a call, None where one of the two was not timed."""
    latency = {cell.system: cell.latency.mean for cell in every if cell.k == k and cell.latency}
    before, after = latency.get(spoken.without), latency.get(spoken.system)
    return None if before is None or after is None else after - before


def _spoken_of(reranked: Sequence[Reranked], first: str) -> Reranked | None:
    """The reranker of the highest system, or over it, else the one that changes most."""
    of_first = [one for one in reranked if first in (one.system, one.without)]
    return max(of_first or reranked, key=lambda one: abs(one.verdict.evidence.difference), default=None)


def _significance(
    tested: Panel, measure: Measure, *, k: int, baseline: str, resamples: Resamples, alpha: float
) -> dict[str, Change]:
    """The family alone."""
    if baseline not in tested.systems or len(tested.systems) < 2:
        return {}
    found = compare(tested, measure, k=k, baseline=baseline, resamples=resamples, alpha=alpha, in_detail=())
    return {change.system: change for change in found.family}


def _references(of: Material, ks: set[int]) -> dict[tuple[str, int], dict[str, float]]:
    needs = {query.id: query.need for query in of.collection.queries}
    found = references(
        of.collection.qrels, needs, documents=of.documents, ks=sorted(ks), docs=of.collection.doc_ids
    )
    return {
        (lens, k): {name: means[lens, k] for name, means in found.items()}
        for lens in LENSES
        for k in sorted(ks)
        if found
    }


def _measures(every: Sequence[Cell]) -> tuple[str, ...]:
    """Those with a value, the first ones first and Judged last."""
    known = {name for cell in every for name in cell.values}
    others = [name for name in MEASURES if name in known and name not in (*FIRST, "judged")]
    return tuple(name for name in (*FIRST, *others, "judged") if name in known)


def _size(of: Material) -> Size:
    qrels = of.collection.qrels
    judged = set(qrels.judged_queries)
    return Size(
        documents=of.documents,
        queries=len(of.collection.queries),
        judged_queries=len(judged),
        needs=len({query.need for query in of.collection.queries if query.id in judged}),
        judgements=len(qrels),
        has_parts=bool(qrels.parts),
    )
