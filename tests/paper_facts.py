"""Findings small enough to be written by hand, with a name that LaTeX, Markdown and CSV must each not read."""

from __future__ import annotations

import dataclasses

from bench.metrics import MEASURES
from bench.statistics.answer import Answer
from bench.statistics.change import Change
from bench.statistics.findings import Cell, Curve, Figure, Findings, Front, Interaction, Point, Size, Slice
from bench.statistics.significance import PairedTest

BARE, BETTER, ODD, GONE = "bm25", "bm25+overlap", "hybrid(a_b=50%,c|d)", "dense(&x)"
KS = (1, 5)
NDCG = {BARE: {1: 0.5004, 5: 0.61249}, BETTER: {1: 0.5001, 5: 0.7}, ODD: {1: 0.4, 5: 0.70004}}
RECALL = {BARE: {1: 0.3, 5: 0.81}, BETTER: {1: 0.3, 5: 0.8}, ODD: {1: 0.25, 5: 0.8123456789012345}}
MS = {BARE: 0.512, BETTER: 12.34, ODD: 104.6}


def figure(mean: float) -> Figure:
    return Figure(mean=mean, lo=round(mean - 0.1, 4), hi=round(mean + 0.1, 4))


def cell(system: str, k: int) -> Cell:
    done = system != GONE
    of = {"recall": RECALL[system][k], "ndcg": NDCG[system][k], "judged": 0.9} if done else {}
    return Cell(
        system=system, k=k, status="ok" if done else "failed", reason=None if done else "no $MODEL, 50% of_it",
        values={name: figure(value) for name, value in of.items()}, context_tokens=100.0 * k if done else None,
        latency=figure(MS[system]) if done else None, latency_p95=None, latency_p99=None, stages={},
        queries=34 if done else 0, no_relevant=2, unanswered=0, options={"reranker": "none"}, parameters={},
    )  # fmt: skip


def change(system: str, p: float) -> Change:
    before, after = NDCG[BARE][5], NDCG[system][5]
    test = PairedTest(after - before, p, 34, 0, 34, 12, 8, 22, 4, "exact", "")
    return Change(
        system=system, name="ndcg", measure="nDCG@5", k=5, before=before, after=after, interval=None, test=test,
        corrected=p, among=2, alpha=0.05, exploratory=False, same_documents=False,
    )  # fmt: skip


def point(system: str, k: int, measure: dict[str, dict[int, float]]) -> Point:
    return Point(system=system, k=k, quality=measure[system][k], cost=MS[system] * (1 + k / 50), cost_lo=None,
                 cost_hi=None, on_front=system == BARE, share_on_front=0.5)  # fmt: skip


def findings() -> Findings:
    systems = (BARE, BETTER, ODD)
    cells = tuple(cell(system, k) for system in (*systems, GONE) for k in KS)
    curves = tuple(
        Curve(system=s, measure=m, across_k=m == "recall", points=tuple((k, figure(v[s][k])) for k in KS))
        for m, v in (("recall", RECALL), ("ndcg", NDCG))
        for s in systems
    )
    fronts = tuple(
        Front(
            measure="recall", k=None, cost=c, points=tuple(point(s, k, RECALL) for s in systems for k in KS)
        )
        for c in ("latency", "tokens")
    )
    slices = tuple(
        Slice(
            key="type",
            value=value,
            queries=n,
            needs=n,
            values={(s, 5): {"ndcg": figure(NDCG[s][5])} for s in systems},
        )
        for value, n in (("code", 10), ("$x_1$", 20), ("", 4))
    )
    return Findings(
        collection="a_b & c", measure="ndcg", printed="nDCG@5", k=5, lenses=("precision", "recall", "mrr", "ndcg"),
        measures=("recall", "ndcg", "judged"), names={m: str(MEASURES[m]) for m in ("recall", "ndcg", "judged")},
        across_k=("recall",), deciding="recall", ks=KS, systems=systems, baseline=BARE, cells=cells, within=(),
        curves=curves, fronts=fronts, steps=(), slices=slices,
        interactions=(Interaction(key="type", p=0.5, corrected=0.5, among=1, alpha=0.05),), ranked=(), rankings={},
        rankings_depth=0, depths={}, documents={},
        answer=Answer(overview=None, advised=None, reranked=None, extra_ms=None),
        overview=None, significance={BETTER: change(BETTER, 0.01), ODD: change(ODD, 0.2)}, references={},
        failed=((GONE, "failed: no $MODEL, 50% of_it"),),
        size=Size(documents=9, queries=36, judged_queries=36, needs=36, judgements=50, has_parts=False), notes=(),
    )  # fmt: skip


def renamed(of: Findings, collection: str) -> Findings:
    return dataclasses.replace(of, collection=collection)
