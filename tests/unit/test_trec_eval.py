"""trec_eval's answer where it is on purpose not ours: beside pytrec_eval, and each difference shown."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run, ranking_of

from bench.evaluate import evaluate
from bench.metrics import MEASURES
from bench.scores.trec_eval import as_trec_eval

NAMES = {
    "precision": "P_5",
    "recall": "recall_5",
    "ndcg": "ndcg_cut_5",
    "ap": "map_cut_5",
    "success": "success_5",
    "mrr": "recip_rank",
    "r_precision": "Rprec",
    "bpref": "bpref",
}
docs = st.sampled_from([f"d{i}" for i in range(9)])
queries = st.sampled_from([f"q{i}" for i in range(4)])
# Some of them are equal in single precision alone, some beyond its range.
scores = st.sampled_from([-1e300, -1.0, 0.0, 0.3, 0.3 + 1e-9, 0.3 - 1e-9, 1.0, 1 + 1e-12, 3e38, 1e39, np.inf])
judgements = st.dictionaries(queries, st.dictionaries(docs, st.integers(-2, 3), min_size=1), min_size=1)
rankings = st.dictionaries(queries, st.dictionaries(docs, scores, min_size=1), min_size=1)


def both(judged, ranked, *names):
    """The means of our measures at 5 by our own rules and by those of trec_eval."""
    run, qrels, measures = make_run(ranked), make_qrels(judged), [MEASURES[name] for name in names]
    seen = as_trec_eval(run, qrels)
    ours = evaluate(run, qrels, ks=[5], measures=measures)
    theirs = evaluate(seen.run, seen.qrels, ks=[5], measures=measures, no_relevant_is_zero=True)
    return [(ours.mean(name, 5), theirs.mean(name, 5)) for name in names]


def by_pytrec_eval(judged, ranked, *names):
    """The means of pytrec_eval over the queries that it evaluates."""
    asked = {NAMES[name].replace("_5", ".5") for name in names}
    values = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(ranked)
    return [np.mean([one[NAMES[name]] for one in values.values()]) for name in names]


@settings(max_examples=100, deadline=None)
@given(judgements, rankings)
def test_by_its_rules_every_shared_measure_is_that_of_trec_eval_in_every_query_and_in_the_mean(
    judged, ranked
):
    # pytrec_eval reads outside its arrays where all grades of a query are below 0.
    judged = {query: grades for query, grades in judged.items() if max(grades.values()) >= 0}
    shared = sorted(judged.keys() & ranked.keys())
    if not shared:
        return
    seen = as_trec_eval(make_run(ranked), make_qrels(judged))
    assert seen.qrels.judged_queries == tuple(shared)
    ours = evaluate(
        seen.run, seen.qrels, ks=[5], measures=[MEASURES[name] for name in NAMES], no_relevant_is_zero=True
    )
    asked = {name.replace("_5", ".5") for name in NAMES.values()}
    theirs = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(ranked)
    for name, symbol in NAMES.items():
        expected = np.array([theirs[query][symbol] for query in shared])
        if name == "mrr":
            expected = np.where(expected >= 1 / 5, expected, 0.0)
        np.testing.assert_allclose(ours.values[name, 5], expected, rtol=0, atol=1e-12)
        assert ours.mean(name, 5) == pytest.approx(expected.mean(), abs=1e-12)


def test_scores_that_single_precision_cannot_tell_apart_go_by_document_id():
    judged, ranked = {"q": {"a": 1}}, {"q": {"a": 0.30000001192092896, "z": 0.3}}
    ((ours, theirs),) = both(judged, ranked, "mrr")
    assert (ours, theirs) == (1.0, 0.5)
    assert by_pytrec_eval(judged, ranked, "mrr") == [theirs]
    seen = as_trec_eval(make_run(ranked), make_qrels(judged))
    assert (seen.reordered, ranking_of(seen.run, "q")) == (1, ["z", "a"])


def test_a_query_without_a_relevant_document_counts_0():
    judged = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": 1}}
    ranked = {"q1": {"a": 1.0}, "q2": {"b": 1.0}, "q3": {"c": 1.0}}
    ((ours, theirs),) = both(judged, ranked, "mrr")
    assert (ours, theirs) == (1.0, pytest.approx(2 / 3, abs=1e-12))
    assert by_pytrec_eval(judged, ranked, "mrr") == [pytest.approx(theirs, abs=1e-12)]


def test_a_query_that_the_run_lacks_is_left_out_of_the_mean():
    judged, ranked = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    ((ours, theirs),) = both(judged, ranked, "mrr")
    assert (ours, theirs) == (0.5, 1.0)
    assert by_pytrec_eval(judged, ranked, "mrr") == [theirs]
    assert as_trec_eval(make_run(ranked), make_qrels(judged)).missing == ("q2",)


def test_a_fractional_grade_is_cut_to_a_whole_one_towards_0():
    judged, ranked = {"q": {"a": 0.9, "b": 1.9, "c": -0.5}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    ((ours, theirs),) = both(judged, ranked, "ndcg")
    whole = {"q": {"a": 0, "b": 1, "c": 0}}
    assert by_pytrec_eval(whole, ranked, "ndcg") == [pytest.approx(theirs, abs=1e-12)]
    assert ours != pytest.approx(theirs, abs=1e-3)
    seen = as_trec_eval(make_run(ranked), make_qrels(judged))
    assert (seen.cut, seen.qrels.grades.tolist()) == (3, [0.0, 1.0, 0.0])


def test_what_the_rules_have_changed_is_told_and_nothing_where_nothing_was():
    judged = {"q1": {"a": 0.5, "b": 1}, "q2": {"b": 1}}
    seen = as_trec_eval(make_run({"q1": {"a": 0.3, "b": 0.30000001}}), make_qrels(judged))
    said = " / ".join(seen.told())
    assert "1 judged queries" in said
    assert "1 fractional grades" in said
    plain = as_trec_eval(make_run({"q1": ["a"]}), make_qrels({"q1": {"a": 1}}))
    assert list(plain.told()) == []


def test_the_run_and_the_judgements_that_were_given_stay_as_they_were():
    run, qrels = make_run({"q": {"a": 0.30000001192092896, "z": 0.3}}), make_qrels({"q": {"a": 0.9}})
    as_trec_eval(run, qrels)
    assert ranking_of(run, "q") == ["a", "z"]
    assert run.scores.tolist() == [[0.30000001192092896, 0.3]]
    assert qrels.grades.tolist() == [0.9]
