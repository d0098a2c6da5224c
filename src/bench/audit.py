"""How far judgements can be trusted: repeated readings, what the pool missed, and what each system owes to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from bench.collection import Collection
from bench.errors import listing
from bench.evaluate import evaluate
from bench.judgements import Judgement, qrels_of
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.runs import Run
from bench.statistics.resampling import Resamples

MEASURE, K = "ndcg", 5


@dataclass(frozen=True)
class Repeat:
    """Pairs that two assessors have both judged."""

    first: str
    second: str
    table: Mapping[tuple[float, float], int]
    """How many pairs got this grade by the first and that by the second."""

    @property
    def pairs(self) -> int:
        """How many pairs both have judged."""
        return sum(self.table.values())

    @property
    def equal(self) -> float:
        """The share with one grade."""
        return sum(count for (a, b), count in self.table.items() if a == b) / self.pairs

    @property
    def quadratic_kappa(self) -> float:
        """Cohen's kappa with squared distances between grades as weights (Cohen 1968)."""
        grades = sorted({grade for pair in self.table for grade in pair})
        observed = np.array([[self.table.get((a, b), 0) for b in grades] for a in grades], float)
        distance = (np.array(grades)[:, None] - np.array(grades)[None, :]) ** 2
        expected = observed.sum(1)[:, None] * observed.sum(0)[None, :] / observed.sum()
        chance = float((distance * expected).sum())
        return 1.0 if chance == 0 else 1 - float((distance * observed).sum()) / chance


def repeats(log: Sequence[Judgement], first: str, second: str) -> Repeat | None:
    """What two assessors of a log said of the pairs that both have read, None where there are none."""
    grades: dict[str, dict[tuple[str, str], float]] = {first: {}, second: {}}
    for one in log:
        if one.assessor in grades:
            grades[one.assessor][one.query_id, one.doc_id] = one.grade
    both = grades[first].keys() & grades[second].keys()
    return (
        Repeat(first, second, Counter((grades[first][p], grades[second][p]) for p in both)) if both else None
    )


def departures(log: Sequence[Judgement], collection: Collection) -> Iterator[str]:
    """Where a log and its collection part: what it names that is not there, and grades that no reading gave."""
    asked, known = set(collection.query_ids), set(collection.doc_ids)
    queries = sorted({one.query_id for one in log} - asked)
    docs = sorted({one.doc_id for one in log} - known)
    for kind, ids in (("queries", queries), ("documents", docs)):
        if ids:
            yield f"the log judges {len(ids)} {kind} that {collection.name} does not have: {listing(ids, most=5)}"
    given: dict[tuple[str, str], set[float]] = {}
    for one in log:
        given.setdefault((one.query_id, one.doc_id), set()).add(one.grade)
    judged = [(query, d, g) for query, grades in collection.qrels.by_query.items() for d, g in grades.items()]
    unread = [f"{query} / {d}" for query, d, _ in judged if (query, d) not in given]
    others = [f"{query} / {d}" for query, d, g in judged if g not in given.get((query, d), {g})]
    if unread:
        yield f"{len(unread)} judged pairs stand in no reading of the log: {listing(unread, most=5)}"
    if others:
        yield f"{len(others)} judged pairs have a grade that no reading gave: {listing(others, most=5)}"


@dataclass(frozen=True)
class Missed:
    """What a pool had of the relevant documents of the queries of which every document was judged."""

    queries: int
    relevant: int
    pooled: int
    low: float
    high: float
    """The 95 % interval of the share, by bootstrap over needs."""


def missed(
    collection: Collection, pool: Mapping[str, set[str]], *, rel: float, seed: int = 0
) -> Missed | None:
    """How much of what is relevant (grade at least `rel`) the pool had; None without a query judged in full."""
    counts, needs = [], []
    for query in collection.queries:
        grades = collection.qrels.by_query.get(query.id, {})
        relevant = {doc for doc, grade in grades.items() if grade >= rel}
        if relevant and len(grades) >= len(collection.docs):
            counts.append((len(relevant & pool.get(query.id, set())), len(relevant)))
            needs.append(query.need)
    if not counts:
        return None
    table = np.array(counts, float)
    means = Resamples.of(needs, seed=seed).means(table)
    low, high = np.percentile(means[:, 0] / means[:, 1], [2.5, 97.5])
    pooled, relevant_ones = table.sum(axis=0).astype(int)
    return Missed(len(table), int(relevant_ones), int(pooled), float(low), float(high))


def pool_of(runs: Mapping[str, Run], depth: int) -> dict[str, set[str]]:
    """By query, the union of the first documents of all runs."""
    pool: dict[str, set[str]] = {}
    for run in runs.values():
        for query, rows in zip(run.queries, run.rows[:, :depth], strict=True):
            pool.setdefault(query, set()).update(run.docs[int(row)] for row in rows if row >= 0)
    return pool


def scores(runs: Mapping[str, Run], qrels: Qrels) -> dict[str, float]:
    """MEASURE at K of every run."""
    measures = [MEASURES[MEASURE]]
    return {
        n: evaluate(run, qrels, ks=[K], measures=measures).mean(MEASURE, K) or 0.0 for n, run in runs.items()
    }


@dataclass(frozen=True)
class LeftOut:
    """A system scored without the judgements that only its own results brought (Zobel 1998)."""

    system: str
    score: float
    without: float
    rank: int
    rank_without: int


def leave_one_out(runs: Mapping[str, Run], qrels: Qrels, *, depth: int) -> list[LeftOut]:
    """Every system without what only it had found among the first `depth`, the largest change first."""
    plain = scores(runs, qrels)
    found = []
    for system in runs:
        others = pool_of({name: run for name, run in runs.items() if name != system}, depth)
        own = pool_of({system: runs[system]}, depth)
        kept = {
            query: {
                d: g for d, g in grades.items() if d in others.get(query, ()) or d not in own.get(query, ())
            }
            for query, grades in qrels.by_query.items()
        }
        parts = {
            q: {p: [d for d in ds if d in kept[q]] for p, ds in ps.items()} for q, ps in qrels.parts.items()
        }
        without = scores(runs, Qrels.of({q: grades for q, grades in kept.items() if grades}, parts=parts))
        ranks = (_rank(plain, system), _rank(without, system))
        found.append(LeftOut(system, plain[system], without[system], *ranks))
    return sorted(found, key=lambda one: -abs(one.score - one.without))


WAYS: Mapping[str, Callable[[float, float], float]] = {
    "second": lambda _, second: second,
    "higher": max,
    "lower": min,
}
"""How two grades of a pair can be settled, the first and the second, by name."""


@dataclass(frozen=True)
class Reranked:
    """The order of systems under one way to settle two readings, beside that of the first reading."""

    way: str
    """One of WAYS."""
    tau: float
    changed: list[tuple[str, str]]
    """Pairs of systems whose order it turns."""


def ranked_again(
    runs: Mapping[str, Run], log: Sequence[Judgement], first: str, second: str
) -> list[Reranked]:
    """Systems ranked under each of WAYS; a pair that the second has not read keeps the grade of the first."""
    one, two = qrels_of(log, assessors=[first]), qrels_of(log, assessors=[second])
    queries = next(iter(runs.values())).queries
    plain = scores(runs, one.of_queries(queries))
    found = []
    for way, settle in WAYS.items():
        settled: dict[str, dict[str, float]] = {}
        for q, grades in one.by_query.items():
            other = two.by_query.get(q, {})
            settled[q] = {d: settle(grade, other.get(d, grade)) for d, grade in grades.items()}
        again = scores(runs, Qrels.of(settled).of_queries(queries))
        names = list(runs)
        tau = float(kendalltau([plain[n] for n in names], [again[n] for n in names]).statistic)
        turned = [(a, b) for a in names for b in names if plain[a] > plain[b] and again[a] < again[b]]
        found.append(Reranked(way, tau, turned))
    return found


def _rank(table: Mapping[str, float], system: str) -> int:
    return 1 + sum(score > table[system] for score in table.values())
