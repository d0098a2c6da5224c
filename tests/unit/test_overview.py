"""All that a sweep shows: the answer, what stands against it, and what is exploratory."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.metrics import MEASURES
from bench.statistics.overview import Overview, overview
from bench.statistics.panel import Panel
from bench.statistics.rankings import Rankings
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, paired_tests
from bench.statistics.verdicts import verdict

NDCG = MEASURES["ndcg"]
DOCS = [f"d{i}" for i in range(6)]


def queries(count: int) -> list[str]:
    return [f"q{i:02}" for i in range(count)]


def made(places: dict[str, list[int]], *, unjudged: frozenset[int] = frozenset()) -> tuple[Panel, Rankings]:
    """Systems by the rank (from 0) at which each query finds its one relevant document; 5 is nowhere in the top 5.

    The documents of these ranks beside it are not judged.
    """
    count = len(next(iter(places.values())))
    judged = {
        query: {"d0": 1, **{doc: 0 for i, doc in enumerate(DOCS) if i and i not in unjudged}}
        for query in queries(count)
    }
    runs = {}
    for system, ranks in places.items():
        rankings = {}
        for query, rank in zip(queries(count), ranks, strict=True):
            others = DOCS[1:]
            rankings[query] = [*others[:rank], "d0", *others[rank:]][:5]
        runs[system] = make_run(rankings, DOCS)
    collection = Collection(
        name="made",
        docs=tuple(Doc(id=doc, text=doc) for doc in DOCS),
        queries=tuple(Query(id=query, text=query) for query in queries(count)),
        qrels=make_qrels(judged),
    )
    measures = [NDCG, MEASURES["recall"], MEASURES["mrr"]]
    values = {}
    found = {
        system: evaluate(run, collection.qrels, ks=[1, 5], measures=measures) for system, run in runs.items()
    }
    for measure in measures:
        for k in (1, 5):
            values[measure.name, k] = np.stack(
                [one.values[measure.name, k] for one in found.values()], axis=1
            )
    needs = tuple(queries(count))
    return Panel(tuple(places), needs, needs, values), Rankings(runs, collection, len(DOCS))


def shown(places: dict[str, list[int]], *, unjudged: frozenset[int] = frozenset(), **options) -> Overview:
    panel, rankings = made(places, unjudged=unjudged)
    return overview(panel, NDCG, k=5, rankings=rankings, **options)


FIRST, LAST, MIXED = [0] * 30, [4] * 30, [0, 1] * 15
SWEEP = {"low": LAST, "top": FIRST, "near": [0] * 29 + [1], "mixed": MIXED}


def test_the_answer_names_the_highest_and_who_cannot_be_told_from_it():
    found = shown(SWEEP)
    assert (
        found.sentence == "top has the highest nDCG@5, 1.000; of 4 systems only near cannot be told from it."
    )
    assert [one.system for one in found.behind] == ["near", "mixed", "low"]
    assert found.behind[-1].difference == pytest.approx(1 - 1 / np.log2(6))


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        (("top", "low"), "top has the highest nDCG@5, 1.000, and is shown to be the best of 2 systems."),
        (
            ("top", "near"),
            "top has the highest nDCG@5, 1.000, but none of the 2 systems can be told from the best.",
        ),
        (
            ("top",),
            "top has the highest nDCG@5, 1.000, and stands alone: a sweep of two or more has something to compare.",
        ),
    ],
)
def test_the_answer_says_how_far_the_best_can_be_told(systems, said):
    assert shown({system: SWEEP[system] for system in systems}).sentence.startswith(said)


def test_systems_are_held_against_the_highest_in_as_large_a_family_as_there_are_others():
    found = shown(SWEEP)
    assert {one.power.level for one in found.behind} == {0.05 / 3}
    assert {one.alike.overlap for one in found.behind} == {1.0}
    assert found.behind[0].alike.rbo > found.behind[-1].alike.rbo
    assert dict(found.references)["oracle"] == 1


def test_what_is_unjudged_is_told_for_the_same_difference():
    judged, open_ = shown(SWEEP).behind[-1], shown(SWEEP, unjudged=frozenset({1, 2})).behind[-1]
    assert (judged.unjudged.low, judged.unjudged.high) == pytest.approx([judged.difference] * 2)
    assert open_.unjudged.low < open_.difference <= open_.unjudged.high
    assert judged.unjudged.decided


def test_a_reranker_has_the_verdict_and_a_p_corrected_over_all_rerankers():
    panel, _ = made(SWEEP)
    pairs = [("mixed", "top"), ("mixed", "low")]
    found = shown(SWEEP, reranked=[*pairs, ("top", "absent")]).reranked
    values = panel.at(NDCG, 5)
    differences = np.stack(
        [values[:, panel.column(b)] - values[:, panel.column(a)] for a, b in pairs], axis=1
    )
    tests = paired_tests(differences, panel.needs)

    assert [(one.without, one.system) for one in found] == pairs
    assert [one.corrected for one in found] == pytest.approx(
        benjamini_hochberg(np.array([t.p for t in tests]))
    )
    assert [one.verdict for one in found] == [
        verdict(differences[:, i], Resamples.of(panel.needs), subject=pairs[i][1], measure="nDCG@5")
        for i in (0, 1)
    ]


def test_k_is_advised_on_recall_for_the_systems_that_may_be_the_best():
    found = shown(SWEEP)
    assert found.deciding == "R"
    assert list(found.advice) == ["top", "near"]
    assert found.advice["top"].largest == 5


def test_no_query_with_a_value_is_refused():
    panel, rankings = made(SWEEP)
    panel = dataclasses.replace(panel, values={("ndcg", 5): np.full((30, 4), np.nan)})
    with pytest.raises(BenchError, match=r"made: no query has a value of nDCG@5 from every system"):
        overview(panel, NDCG, k=5, rankings=rankings)
