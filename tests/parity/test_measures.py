"""Our measures beside trec_eval's own code, on whatever hypothesis can think of."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.evaluate import evaluate
from bench.metrics import MEASURES

SHARED = {"precision": "P", "recall": "recall", "ndcg": "ndcg_cut", "success": "success"}
KS = (1, 3, 5, 10)

docs = st.sampled_from([f"d{i}" for i in range(12)])
queries = st.sampled_from([f"q{i}" for i in range(5)])
# Eighths are equal in single and in double precision, so that trec_eval sees the ties that we see.
scores = st.integers(-40, 40).map(lambda n: n / 8)
judgements = st.dictionaries(queries, st.dictionaries(docs, st.integers(-2, 4), min_size=1), min_size=1)
rankings = st.dictionaries(queries, st.dictionaries(docs, scores, min_size=1), min_size=1)


@settings(max_examples=300, deadline=None)
@given(judgements, rankings)
def test_every_shared_measure_equals_trec_eval(judged, ranked):
    found = evaluate(make_run(ranked), make_qrels(judged), ks=KS, measures=list(MEASURES.values()))
    asked = {f"{name}.{','.join(map(str, KS))}" for name in SHARED.values()} | {"recip_rank"}
    # pytrec_eval reads outside its arrays, and may crash, on a query whose grades are all negative.
    whole = {query: grades for query, grades in judged.items() if max(grades.values()) >= 1}
    theirs = pytrec_eval.RelevanceEvaluator(whole, asked).evaluate(ranked) if whole else {}
    for i, query in enumerate(found.queries):
        if query not in theirs:
            continue
        for ours, name in SHARED.items():
            for k in KS:
                assert found.values[ours, k][i] == pytest.approx(theirs[query][f"{name}_{k}"], abs=1e-12)
        assert found.values["mrr", 10][i] in (0.0, pytest.approx(theirs[query]["recip_rank"], abs=1e-12))


@settings(max_examples=200, deadline=None)
@given(judgements, rankings)
def test_what_grows_with_k_never_falls_and_everything_lies_between_0_and_1(judged, ranked):
    found = evaluate(make_run(ranked), make_qrels(judged), ks=KS, measures=list(MEASURES.values()))
    for measure in MEASURES.values():
        by_k = np.array([found.values[measure.name, k] for k in KS])
        defined = by_k[:, ~np.isnan(by_k).any(axis=0)]
        assert ((defined >= 0) & (defined <= 1 + 1e-12)).all()
        if measure.grows_with_k:
            assert (np.diff(defined, axis=0) >= 0).all()


@settings(max_examples=100, deadline=None)
@given(judgements, rankings, st.randoms(use_true_random=False))
def test_the_order_in_which_things_were_written_changes_nothing(judged, ranked, random):
    def shuffled(nested):
        items = [(key, dict(random.sample(list(inner.items()), len(inner)))) for key, inner in nested.items()]
        return dict(random.sample(items, len(items)))

    one = evaluate(make_run(ranked), make_qrels(judged), ks=KS, measures=list(MEASURES.values()))
    two = evaluate(
        make_run(shuffled(ranked)), make_qrels(shuffled(judged)), ks=KS, measures=list(MEASURES.values())
    )
    for cell, values in one.values.items():
        np.testing.assert_array_equal(values, two.values[cell])
