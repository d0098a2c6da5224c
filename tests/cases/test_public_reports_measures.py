"""Cases 1 to 5 and their kin: what an ideal is made of, gains and discounts, ranks, cut-offs and means."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cases.everything import each_measure, evaluated, value, written
from tests.conftest import make_qrels, make_run

from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.loading import BeirFolder
from bench.metrics import MEASURES

NORMALISED = ("ndcg", "ndcg_exp", "alpha_ndcg")
"""Divided by the best that the judgements allow."""
BLIND = ("ndcg_retrieved", "context_precision", "judged")
"""Of what came back alone, and said to be so: a list that stops early can score more."""
FOUND_BY_RANK = {
    "mrr": lambda rank: 1 / rank,
    "ap": lambda rank: 1 / rank,
    "context_precision": lambda rank: 1 / rank,
    "err": lambda rank: 0.5 / rank,
    "rbp": lambda rank: 0.2 * 0.8 ** (rank - 1),
    **dict.fromkeys((*NORMALISED, "ndcg_retrieved"), lambda rank: 1 / np.log2(rank + 1)),
}
"""The one relevant document at a rank: every measure that counts ranks."""
ORDER_MATTERS = {*FOUND_BY_RANK, "r_precision", "bpref"}
ORDER_IS_ALL_ONE = {"precision", "recall", "complete", "part_recall", "success", "f1", "judged"}

GRADES = (-1, 0, 0, 0.5, 0.9, 1, 1, 2, 3)
DOCS = [f"d{i}" for i in range(9)]
KS = (1, 2, 3, 5, 8, 10)


@functools.cache
def many():
    """Judgements and rankings of 400 queries, drawn at random; some have nothing relevant, some no answer."""
    random = np.random.default_rng(0)
    judged, ranked = {}, {}
    for query in (f"q{i:03}" for i in range(400)):
        some = random.permutation(DOCS)[: random.integers(1, 9)]
        judged[query] = {str(doc): float(random.choice(GRADES)) for doc in some}
        ranked[query] = random.permutation(DOCS)[: random.integers(0, 9)].tolist()
    return judged, ranked


@functools.cache
def values_of(most=None):
    """Every measure of the many at every k, of rankings that stop after so many documents."""
    judged, ranked = many()
    return evaluated(judged, {query: docs[:most] for query, docs in ranked.items()}, ks=KS).values


# Case 1: the ideal was cut to what had been returned, so one document of five was a perfect answer.


@pytest.mark.parametrize("measure", ["ndcg", "ndcg_exp"])
def test_one_of_five_relevant_documents_is_no_perfect_answer_and_all_five_late_are_a_better_one(measure):
    judged = {f"dev_{i}": 3 for i in range(1, 6)}
    late = ["x1", "x2", "x3", "x4", "x5", *judged]
    assert value(measure, 10, judged, ["dev_1"]) == pytest.approx(0.3392, abs=5e-5)
    assert value(measure, 10, judged, late) == pytest.approx(0.5410, abs=5e-5)


@pytest.mark.parametrize("measure", [name for name in MEASURES if name not in BLIND])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_returning_less_never_scores_more(measure, kept):
    for k in KS:
        whole, less = values_of()[measure, k], values_of(kept)[measure, k]
        np.testing.assert_array_equal(np.isnan(whole), np.isnan(less))
        assert not (less > whole + 1e-12).any()
    assert (values_of(kept)[measure, 10] < values_of()[measure, 10]).any()


# Case 2: the ideal came from the retrieved documents, or was not cut at k; values above 1.


@pytest.mark.parametrize("measure", ["ndcg", "ndcg_exp"])
def test_what_was_not_found_stands_in_the_ideal_and_what_lies_beyond_k_does_not(measure):
    twelve = {f"d{i:02}": 1 for i in range(12)}
    assert value(measure, 2, {"a": 3, "b": 3}, ["x", "a"]) == pytest.approx(0.3869, abs=5e-5)
    assert value(measure, 10, twelve, sorted(twelve)[:10]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("measure", ["ndcg", "ndcg_exp", "ndcg_retrieved"])
def test_the_best_ranking_there_is_scores_one_at_every_k_whatever_the_grades(measure):
    judged, _ = many()
    best = {query: sorted(docs, key=lambda doc: -docs[doc]) for query, docs in judged.items()}
    found = evaluated(judged, best, ks=KS)
    some = np.array([max(docs.values()) >= 1 for docs in judged.values()])
    for k in KS:
        assert found.values[measure, k][some] == pytest.approx(1.0, abs=1e-12)
        assert np.isnan(found.values[measure, k][~some]).all()


@pytest.mark.parametrize("measure", NORMALISED)
def test_the_ideal_is_made_of_the_judgements_whatever_came_back(measure):
    judged = {"q": {"a": 3, "b": 2, "c": 1, "n": 0}}
    runs = ([], ["c"], ["x", "y"], ["n", "a"], ["a", "b", "c", "n"])
    ideals = [evaluated(judged, {"q": ranking}, ks=[3]).gains.ideal.tolist() for ranking in runs]
    assert ideals == [[[3, 2, 1, 0]]] * len(runs)


def test_a_grade_above_the_declared_scale_is_refused_lest_a_value_exceed_one(tmp_path):
    folder = written(tmp_path / "shop", {"a": "x", "b": "y"}, {"q": "x"}, {"q": {"a": 3, "b": 2}})
    assert BeirFolder(path=str(folder), max_grade=3).load().max_grade == 3
    with pytest.raises(BenchError, match=r"test\.tsv:2: grade 3 is above collection\.max_grade=2"):
        BeirFolder(path=str(folder), max_grade=2).load()


# Case 3: which gain was meant was not said; mixed scales made a perfect run score 0.33.


def test_linear_and_exponential_gain_are_two_measures_and_their_names_say_which():
    judged, run = {"a": 3, "b": 2, "c": 1}, ["c", "b", "a"]
    assert value("ndcg", 3, judged, run) == pytest.approx(0.7900, abs=5e-5)
    assert value("ndcg_exp", 3, judged, run) == pytest.approx(0.6806, abs=5e-5)
    assert MEASURES["ndcg"].at(3) == "nDCG@3"
    assert MEASURES["ndcg_exp"].at(3) == "nDCG(dcg='exp-log2')@3"
    assert len({str(measure) for measure in MEASURES.values()}) == len(MEASURES)


def test_queries_judged_on_different_scales_each_have_a_perfect_run():
    judged = {"binary": {"a": 1, "b": 1}, "graded": {"a": 4, "b": 2}, "percent": {"a": 100, "b": 40}}
    found = evaluated(judged, {query: ["a", "b"] for query in judged}, ks=[2])
    for measure in ("ndcg", "ndcg_exp"):
        assert found.values[measure, 2] == pytest.approx([1.0, 1.0, 1.0])


# Case 4: the discount began one rank too late or too early.


@pytest.mark.parametrize("measure", FOUND_BY_RANK)
@pytest.mark.parametrize("rank", [1, 2, 3, 7])
def test_the_first_rank_is_one(measure, rank):
    ranking = [f"x{i}" for i in range(8)]
    ranking[rank - 1] = "r"
    assert value(measure, 10, {"r": 1}, ranking) == pytest.approx(FOUND_BY_RANK[measure](rank))


def test_the_discounts_are_those_printed_in_the_report():
    found = [value("ndcg", 3, {"r": 1}, ranking) for ranking in (["r"], ["x", "r"], ["x", "y", "r"])]
    assert found == pytest.approx([1.0, 0.6309, 0.5], abs=5e-5)


# Case 5: the ranks were lost in a set.

RANKED_IN_A_NEW_PROCESS = """
from tests.conftest import make_qrels, make_run
from bench.collection import Collection, Doc, Query
from bench.embedders.hashing import Hashing
from bench.evaluate import evaluate
from bench.fusion import ReciprocalRank
from bench.identity import digest, identity
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.rerankers.overlap import Overlap
from bench.rerankers.pairs import PairReranker
from bench.retrievers.bm25 import METHODS, BM25
from bench.retrievers.dense import Dense
from bench.retrievers.hybrid import Hybrid, Side
from bench.stores.exact import Exact
from bench.text.analyzer import Analyzer

one = evaluate(make_run({"q": ["x", "r"]}), make_qrels({"q": {"r": 1}}), ks=[5], measures=[MEASURES["mrr"]])
texts = {f"d{i}": f"plazo de la palabra{i} y palabra{i % 3}" for i in range(12)}
shop = Collection(
    name="shop",
    docs=tuple(Doc(id=doc, text=text) for doc, text in texts.items()),
    queries=(Query(id="q", text="palabra1 plazo y palabra2"),),
    qrels=Qrels.of({"q": {"d1": 2, "d2": 1}}),
)
analyzer = Analyzer(language="spanish")
sides = {engine: Side(retriever=BM25(analyzer=analyzer, engine=engine)) for engine in METHODS}
sides["dense"] = Side(retriever=Dense(embedder=Hashing(), store=Exact()))
hybrid = Hybrid(sides=sides, fusion=ReciprocalRank())
run = hybrid.index(shop.docs).search(shop.queries, 10)
reranked = PairReranker(scorer=Overlap(analyzer=analyzer)).rerank(run, shop)
print(one.mean("mrr", 5))
print(run.to_table().to_pylist(), reranked.to_table().to_pylist())
print(shop.corpus_digest, shop.qrels_digest, digest(identity(hybrid)))
"""


def test_a_relevant_document_at_rank_two_is_there_on_every_hash_seed_and_so_is_all_else():
    root = Path(__file__).parents[2]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RANKED_IN_A_NEW_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("0", "4242")
    ]
    said = {process.communicate(timeout=120)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(said) == 1
    assert said.pop().startswith("0.5\n")


def test_every_measure_says_whether_the_order_matters_to_it():
    assert set(MEASURES) == ORDER_MATTERS | ORDER_IS_ALL_ONE
    judged = {"r": 1, "n": 0, "m": 0}
    for measure in MEASURES:
        first, last = (value(measure, 3, judged, ranking) for ranking in (["r", "n", "m"], ["n", "m", "r"]))
        assert first > last if measure in ORDER_MATTERS else first == last


# Free points: precision 1.0 where there was no ground truth, nDCG that ignored the returned order.


@each_measure
def test_a_query_without_ground_truth_scores_nothing_and_is_in_no_mean(measure):
    found = evaluated({"judged": {"a": 1}}, {"judged": ["a"], "unjudged": ["a"]}, ks=[1])
    assert found.queries == ("judged",)
    assert found.counted(measure, 1) == 1


@each_measure
def test_without_any_ground_truth_there_is_no_value_at_all(measure):
    with pytest.raises(BenchError, match="there is no judgement"):
        evaluate(make_run({"q": ["a"]}), make_qrels({}), ks=[1], measures=[MEASURES[measure]])


# The reciprocal rank was not cut at k.


@pytest.mark.parametrize("measure", [name for name, one in MEASURES.items() if one.has_k])
@pytest.mark.parametrize("k", KS)
def test_what_stands_below_k_counts_in_no_measure_at_k(measure, k):
    np.testing.assert_allclose(values_of()[measure, k], values_of(k)[measure, k], rtol=0, atol=1e-15)


def test_a_relevant_document_at_rank_eleven_is_not_within_ten():
    run = [f"x{i:02}" for i in range(10)] + ["r"]
    assert value("mrr", 10, {"r": 1}, run) == 0.0
    assert value("mrr", 11, {"r": 1}, run) == pytest.approx(0.0909, abs=5e-5)


# Means were averages of the averages of batches.


@functools.cache
def whole_and_parts():
    """The many under a declared scale, all at once and in three batches."""
    judged, run = many()
    queries = list(judged)
    batches = [queries, queries[:1], queries[1:100], queries[100:]]
    return [
        evaluated({q: judged[q] for q in some}, {q: run[q] for q in some}, max_grade=3) for some in batches
    ]


@each_measure
def test_batches_of_queries_give_the_values_of_all_at_once_and_the_mean_is_taken_of_those(measure):
    whole, *parts = whole_and_parts()
    values = np.concatenate([part.values[measure, 5] for part in parts])
    np.testing.assert_allclose(values, whole.values[measure, 5], rtol=0, atol=1e-15)
    assert whole.mean(measure, 5) == pytest.approx(np.nanmean(values), abs=1e-12)
    assert whole.mean(measure, 5) != pytest.approx(np.mean([part.mean(measure, 5) or 0 for part in parts]))


# Grades were truncated to whole numbers, so 0.9 became 0.


@pytest.mark.parametrize("measure", ["ndcg", "ndcg_exp", "ndcg_retrieved", "err"])
def test_a_fraction_of_a_grade_is_a_fraction_of_its_gain(measure):
    nothing, most, whole = (
        value(measure, 2, {"a": grade, "b": 1}, ["a", "b"], max_grade=1) for grade in (0, 0.9, 1)
    )
    assert nothing < most < whole


@pytest.mark.parametrize("measure", ["precision", "recall", "mrr", "ap", "success", "f1"])
def test_a_threshold_of_relevance_may_be_a_fraction(measure):
    asked = MEASURES[measure].given({"rel": 0.9})
    found = evaluate(make_run({"q": ["a"]}), make_qrels({"q": {"a": 0.9}}), ks=[1], measures=[asked])
    assert found.values[asked.key, 1][0] == 1.0
