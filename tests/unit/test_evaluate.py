"""What counts in a mean, and what is left out and counted beside it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.gains import EMPTY, JUDGED, RELEVANT, UNJUDGED
from bench.metrics import MEASURES

MRR = [MEASURES["mrr"]]


def test_a_query_that_is_missing_from_the_run_counts_zero():
    found = evaluate(
        make_run({"q1": ["a"]}), make_qrels({"q1": {"a": 1}, "q2": {"b": 1}}), ks=[5], measures=MRR
    )
    assert found.mean("mrr", 5) == 0.5
    assert found.counted("mrr", 5) == 2
    assert int(found.unanswered.sum()) == 1


def test_a_query_without_a_relevant_document_is_left_out_and_counted_and_touches_no_other():
    judged = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": 1}}
    found = evaluate(
        make_run({"q1": ["a"], "q2": ["b"], "q3": ["c"]}), make_qrels(judged), ks=[5], measures=MRR
    )
    assert found.mean("mrr", 5) == 1.0
    assert (found.counted("mrr", 5), found.no_relevant) == (2, 1)
    assert found.values["mrr", 5][2] == 1.0


def test_an_empty_answer_to_a_query_without_relevant_documents_is_not_called_unanswered():
    found = evaluate(make_run({"q": []}, docs=["a"]), make_qrels({"q": {"a": 0}}), ks=[1], measures=MRR)
    assert not found.unanswered.any()
    assert found.mean("mrr", 1) is None


def test_every_place_has_its_status():
    run = make_run({"q": ["a", "b", "c"], "p": ["a"]})
    found = evaluate(run, make_qrels({"q": {"a": 2, "b": 0}}), ks=[3], measures=MRR)
    assert found.gains.status.tolist() == [[RELEVANT, JUDGED, UNJUDGED]]
    two = evaluate(run, make_qrels({"q": {"a": 2}, "p": {"b": 1}}), ks=[3], measures=MRR)
    assert two.gains.status.tolist() == [[UNJUDGED, EMPTY, EMPTY], [RELEVANT, UNJUDGED, UNJUDGED]]


def test_judged_documents_outside_the_collection_count_in_what_could_be_found():
    run = make_run({"q": ["a"]})
    found = evaluate(run, make_qrels({"q": {"a": 1, "nowhere": 1}}), ks=[5], measures=[MEASURES["recall"]])
    assert found.values["recall", 5][0] == 0.5


def test_no_judgement_at_all_is_refused():
    with pytest.raises(BenchError, match="no judgement"):
        evaluate(make_run({"q": ["a"]}), make_qrels({}), ks=[1], measures=MRR)


def test_the_mean_is_taken_once_over_queries_and_not_over_batches():
    rankings = {f"q{i}": ["r"] if i % 3 else ["x", "r"] for i in range(7)}
    found = evaluate(
        make_run(rankings), make_qrels({query: {"r": 1} for query in rankings}), ks=[2], measures=MRR
    )
    assert found.mean("mrr", 2) == pytest.approx(np.mean([1 if i % 3 else 0.5 for i in range(7)]))


def test_no_value_depends_on_what_else_is_asked_for():
    random = np.random.default_rng(5)
    ids = [f"d{i}" for i in range(30)]
    run = make_run({f"q{i}": list(random.permutation(ids)[: random.integers(1, 30)]) for i in range(20)})
    qrels = make_qrels(
        {f"q{i}": dict(zip(ids, random.integers(-1, 3, 30).tolist(), strict=True)) for i in range(21)}
    )
    every = evaluate(run, qrels, ks=[1, 3, 40], measures=list(MEASURES.values()))
    for name, measure in MEASURES.items():
        for ks in ([1], [3], [1, 3]):
            alone = evaluate(run, qrels, ks=ks, measures=[measure])
            for k in ks:
                np.testing.assert_allclose(alone.values[name, k], every.values[name, k], rtol=0, atol=1e-14)
            assert alone.no_relevant == every.no_relevant
            assert alone.unanswered.tolist() == every.unanswered.tolist()
