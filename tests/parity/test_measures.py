"""Our measures beside trec_eval's, ndeval's own code, on whatever hypothesis can think of."""

from __future__ import annotations

import math

import numpy as np
import pyndeval
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run, ranking_of

from bench import join
from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.metrics import MEASURES, parse

CUT = {"precision": "P", "recall": "recall", "ndcg": "ndcg_cut", "success": "success", "ap": "map_cut"}
WHOLE = {"r_precision": "Rprec", "bpref": "bpref"}
KS = (1, 3, 5, 10)

docs = st.sampled_from([f"d{i}" for i in range(12)])
queries = st.sampled_from([f"q{i}" for i in range(5)])
# Eighths are equal in single and in double precision, so that trec_eval sees the ties that we see.
scores = st.integers(-40, 40).map(lambda n: n / 8)
judgements = st.dictionaries(queries, st.dictionaries(docs, st.integers(-2, 4), min_size=1), min_size=1)
rankings = st.dictionaries(queries, st.dictionaries(docs, scores, min_size=1), min_size=1)
parts = st.dictionaries(docs, st.sets(st.sampled_from("abc"), max_size=3), min_size=1)


def close(value):
    return pytest.approx(value, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(judgements, rankings, st.integers(1, 3))
def test_every_shared_measure_equals_trec_eval_at_every_level_of_relevance(judged, ranked, rel):
    levelled = {name: MEASURES[name].given({"rel": rel}) for name in (*CUT, "mrr") if name != "ndcg"}
    levelled["ndcg"] = MEASURES["ndcg"]
    whole = {name: MEASURES[name].given({"rel": rel}) for name in WHOLE}
    every = [*levelled.values(), *whole.values()]
    found = evaluate(make_run(ranked), make_qrels(judged), ks=KS, measures=every)
    asked = {f"{name}.{','.join(map(str, KS))}" for name in CUT.values()} | {"recip_rank", *WHOLE.values()}
    # pytrec_eval reads outside its arrays, and may crash, on a query whose grades are all negative.
    kept = {query: grades for query, grades in judged.items() if max(grades.values()) >= 1}
    theirs = pytrec_eval.RelevanceEvaluator(kept, asked, relevance_level=rel).evaluate(ranked) if kept else {}
    for i, query in enumerate(found.queries):
        if query not in theirs:
            continue
        some = any(grade >= rel for grade in judged[query].values())
        for ours, name in CUT.items():
            for k in KS:
                if some or ours == "ndcg":
                    assert found.values[levelled[ours].key, k][i] == close(theirs[query][f"{name}_{k}"])
        if some:
            first = theirs[query]["recip_rank"]
            assert found.values[levelled["mrr"].key, 10][i] == close(first if first >= 1 / 10 else 0.0)
            for ours, name in WHOLE.items():
                assert found.values[whole[ours].key, 10][i] == close(theirs[query][name])


@settings(max_examples=100, deadline=None)
@given(judgements, rankings, st.sampled_from([0.5, 0.8, 0.95]))
def test_rbp_is_its_definition(judged, ranked, p):
    ours = MEASURES["rbp"].given({"p": p})
    run = make_run(ranked)
    found = evaluate(run, make_qrels(judged), ks=[10], measures=[ours])
    for i, query in enumerate(found.queries):
        returned = ranking_of(run, query)[:10] if query in ranked else []
        expected = (1 - p) * sum(
            p**place for place, doc in enumerate(returned) if judged[query].get(doc, 0) >= 1
        )
        if not math.isnan(found.values[ours.key, 10][i]):
            assert found.values[ours.key, 10][i] == close(expected)


@settings(max_examples=100, deadline=None)
@given(judgements, rankings)
def test_err_is_that_of_gdeval(judged, ranked):
    run = make_run(ranked)
    found = evaluate(run, make_qrels(judged), ks=[5], measures=[MEASURES["err"]], max_grade=4)
    for i, query in enumerate(found.queries):
        expected, went_on = 0.0, 1.0
        for rank, doc in enumerate(ranking_of(run, query)[:5] if query in ranked else [], 1):
            stops = (2 ** max(0, judged[query].get(doc, 0)) - 1) / 2**4
            expected += went_on * stops / rank
            went_on *= 1 - stops
        if not math.isnan(found.values["err", 5][i]):
            assert found.values["err", 5][i] == close(expected)


@settings(max_examples=200, deadline=None)
@given(parts, st.permutations([f"d{i}" for i in range(12)]), st.integers(1, 12))
def test_subtopic_recall_and_alpha_ndcg_equal_ndeval(covered, order, returned):
    topics = sorted({part for of_doc in covered.values() for part in of_doc})
    if not topics:
        return
    listed = {topic: [doc for doc in covered if topic in covered[doc]] for topic in topics}
    qrels = make_qrels({"q": {doc: 2 if of_doc else 0 for doc, of_doc in covered.items()}}, q=listed)
    run = make_run({"q": order[:returned]})
    found = evaluate(run, qrels, ks=[5, 10], measures=[MEASURES["part_recall"], MEASURES["alpha_ndcg"]])
    theirs = pyndeval.ndeval(
        [
            pyndeval.SubtopicQrel("q", topic, doc, int(doc in listed[topic]))
            for topic in topics
            for doc in covered
        ],
        [pyndeval.ScoredDoc("q", doc, -float(i)) for i, doc in enumerate(order[:returned])],
        measures=["strec@5", "strec@10", "alpha-nDCG@5", "alpha-nDCG@10"],
    )["q"]
    for k in (5, 10):
        assert found.values["part_recall", k][0] == pytest.approx(theirs[f"strec@{k}"], abs=1e-6)
        assert found.values["alpha_ndcg", k][0] == pytest.approx(theirs[f"alpha-nDCG@{k}"], abs=1e-6)


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


@settings(max_examples=100, deadline=None)
@given(judgements, rankings)
def test_looking_up_and_sorting_find_the_same_places(judged, ranked):
    run, qrels = make_run(ranked), make_qrels(judged)
    row, rows = run.docs.rows(qrels.doc_array), join.aligned(run.rows, run, qrels, empty=-1)
    looked = join._ranks(rows, qrels.query_codes, row)
    np.testing.assert_array_equal(looked, join._ranks_by_sorting(rows, qrels.query_codes, row))


class TestNames:
    @pytest.mark.parametrize("measure", list(MEASURES.values()), ids=str)
    def test_what_is_printed_is_parsed_back(self, measure):
        assert parse(str(measure)) == (measure, None)
        if measure.has_k:
            assert parse(measure.at(10)) == (measure, 10)
            assert parse(measure.at(10).upper())[0].name == measure.name
        assert parse(measure.name)[0] == measure

    @pytest.mark.parametrize(
        ("text", "printed"),
        [
            ("P(rel=2)@5", "P(rel=2)@5"),
            ("p(REL=2)@5", "P(rel=2)@5"),
            ("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10"),
            ("ndcg_exp@10", "nDCG(dcg='exp-log2')@10"),
            ("RBP(p=0.8)@20", "RBP(p=0.8)@20"),
            ("rbp@20", "RBP(p=0.8)@20"),
            ("RBP(p=0.95, rel=2)@20", "RBP(p=0.95, rel=2)@20"),
            ("P(rel=1)@5", "P@5"),
            ("P(rel=1.0)@5", "P@5"),
            ("P(rel=2.0)@5", "P(rel=2)@5"),
            ("P(rel=0.5)@5", "P(rel=0.5)@5"),
            ("alpha_nDCG(alpha=0)@5", "alpha_nDCG(alpha=0)@5"),
            ("alpha_nDCG(alpha=1.0)@5", "alpha_nDCG(alpha=1)@5"),
            ("mrr@10", "RR@10"),
            ("rprec", "Rprec"),
        ],
    )
    def test_names_with_parameters(self, text, printed):
        measure, k = parse(text)
        assert measure.at(k or 1) == printed

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("nDGC@5", "did you mean 'nDCG'"),
            ("P(rell=2)@5", "no parameter 'rell'; did you mean 'rel'"),
            ("P@0", "at least 1"),
            ("Rprec@5", "no cut-off"),
            ("P(2)@5", "name=value"),
            ("P(rel='a')@5", "rel is like 1"),
            ("@5", "no name of a measure"),
            ("P@five", "no name of a measure"),
        ],
    )
    def test_a_wrong_name_says_what_is_right(self, text, said):
        with pytest.raises(BenchError, match=said.replace("(", r"\(")):
            parse(text)
