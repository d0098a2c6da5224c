"""What a trained reranker is worth on questions that it never saw: each first stage before and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.collection import Collection
from bench.evaluate import evaluate
from bench.gains import Array
from bench.metrics import MEASURES
from bench.rerankers.pairs import PairReranker, PairScorer
from bench.runs import Run
from bench.statistics.intervals import Interval, difference_interval
from bench.statistics.power import power
from bench.statistics.resampling import Resamples
from bench.statistics.significance import holm, paired_tests

K = 5
DEPTH = 20
"""How many candidates are reranked."""
WEIGHTS = (0.0, 0.5)
"""How much of the first stage is mixed in: the reranker alone, and both alike."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """nDCG@5 of a first stage and of the reranker behind it, over the questions that have something relevant."""

    first_stage: str
    interpolate: float
    before: float
    after: float
    interval: Interval | None
    """Of the difference, 95 %; None below 10 needs."""
    p: float
    """Of the paired randomisation test, corrected by Holm over all gains that are told together."""
    detectable: float | None
    """The smallest difference that these questions would show 4 times in 5."""
    queries: int


def gains(
    runs: Mapping[str, Run], scorer: PairScorer, collection: Collection, queries: Sequence[str], *, seed: int
) -> tuple[Gain, ...]:
    """The gain behind each of these first stages, by name, on some of the collection's questions."""
    import numpy as np

    needs = {query.id: query.need for query in collection.queries}
    found: list[tuple[str, float, Array, Array]] = []
    asked: tuple[str, ...] = ()
    for name, run in runs.items():
        chosen = [run.queries.index(query) for query in queries]
        part = Run(tuple(queries), run.docs, run.rows[chosen], run.scores[chosen])
        for weight in WEIGHTS:
            reranker = PairReranker(scorer=scorer, depth=DEPTH, interpolate=weight)
            before, after = (_ndcg(one, collection) for one in (part, reranker.rerank(part, collection)))
            asked = before[0]
            found.append((name, weight, before[1], after[1]))
    of_queries = [needs[query] for query in asked]
    differences = np.stack([after - before for _, _, before, after in found], axis=1)
    tests = paired_tests(differences, of_queries, seed=seed)
    corrected = holm(np.array([test.p for test in tests]))
    resamples = Resamples.of(of_queries, seed=seed)
    return tuple(
        Gain(
            first_stage=name,
            interpolate=weight,
            before=float(np.nanmean(before)),
            after=float(np.nanmean(after)),
            interval=difference_interval(differences[:, i], resamples),
            p=float(corrected[i]),
            detectable=power(differences[:, i], of_queries, family=len(found), seed=seed).detectable,
            queries=tests[i].queries,
        )
        for i, (name, weight, before, after) in enumerate(found)
    )


def _ndcg(run: Run, collection: Collection) -> tuple[tuple[str, ...], Array]:
    """Judged questions, and the value of each, NaN where nothing is relevant."""
    found = evaluate(run, collection.qrels.of_queries(run.queries), ks=[K], measures=[MEASURES["ndcg"]])
    return found.queries, found.values["ndcg", K]
