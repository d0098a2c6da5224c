"""Speed beside other tools, in one process and in turn, printed as ratios: `make benchmark`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytrec_eval

from bench.evaluate import evaluate
from bench.ids import Ids
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.runs import Run

ROUNDS = 5
QUERIES, DEPTH, JUDGED, DOCUMENTS = 10_000, 100, 10, 100_000
KS = (1, 3, 5, 10, 20)
LENSES = ("precision", "recall", "mrr", "ndcg")


def seconds(*tasks: Callable[[], object]) -> list[float]:
    """The median time of each task, taken in turn so that a slow moment of the machine hits all alike."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for task, taken in zip(tasks, times, strict=True):
            started = time.perf_counter()
            task()
            taken.append(time.perf_counter() - started)
    return [float(np.median(taken)) for taken in times]


def measures() -> None:
    """A grid of 4 measures at 5 k over 10 000 queries of depth 100, from a run and qrels in memory."""
    random = np.random.default_rng(0)
    ids = Ids(f"d{i:06d}" for i in range(DOCUMENTS))
    queries = tuple(f"q{i:05d}" for i in range(QUERIES))
    rows = np.stack([random.choice(DOCUMENTS, DEPTH, replace=False) for _ in queries])
    run = Run(queries, ids, rows, random.random(rows.shape))
    judgements = {
        query: {ids[int(row)]: int(random.integers(0, 3)) for row in random.choice(run.rows[i], JUDGED, replace=False)}
        for i, query in enumerate(queries)
    }
    qrels = Qrels.of(judgements)
    ranked = {
        query: {ids[int(row)]: float(score) for row, score in zip(run.rows[i], run.scores[i], strict=True)}
        for i, query in enumerate(queries)
    }
    cuts = ",".join(map(str, KS))
    asked = {f"P.{cuts}", f"recall.{cuts}", f"ndcg_cut.{cuts}", "recip_rank"}
    evaluator = pytrec_eval.RelevanceEvaluator(judgements, asked)
    lenses = [MEASURES[name] for name in LENSES]
    ours, theirs = seconds(
        lambda: evaluate(run, qrels, ks=KS, measures=lenses),
        lambda: evaluator.evaluate(ranked),
    )
    print(f"measures: {QUERIES} queries x {DEPTH}, {len(LENSES)} measures at {len(KS)} k")
    print(f"  bench        {ours:8.3f} s  {QUERIES / ours:10.0f} queries a second")
    print(f"  pytrec_eval  {theirs:8.3f} s  {QUERIES / theirs:10.0f} queries a second")
    print(f"  ratio        {theirs / ours:8.1f}")


if __name__ == "__main__":
    measures()
