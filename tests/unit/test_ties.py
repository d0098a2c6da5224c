"""The order of equal scores: beside every order tried, and what real tools got wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.evaluate import evaluate
from bench.gains import Gains
from bench.metrics import MEASURES, parse
from bench.ties import ties

NAMES = (
    "P", "P(rel=2)", "R", "RR", "RR(rel=2)", "nDCG", "nDCG(dcg='exp-log2')", "AP", "AP(rel=2)", "Success", "F1",
    "Rprec", "RBP(p=0.8)", "RBP(p=0.5)", "Bpref", "Bpref(rel=2)", "ERR", "Complete", "StRecall", "alpha_nDCG", "Judged",
)  # fmt: skip
EVERY = [parse(name)[0] for name in NAMES]
CLOSED = 14
"""So many of them, the first, have an expected value in closed form."""

documents = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, 3.0, np.inf]), st.sampled_from([None, -1, 0, 0.5, 1, 1, 2, 3])),
    min_size=1,
    max_size=6,
)
queries = st.lists(documents, min_size=1, max_size=3)


def made(found, missing=()):
    """A run and qrels from scores and grades of the documents of each query, and grades of documents not found."""
    names = [{f"d{i}": pair for i, pair in enumerate(docs)} for docs in found]
    run = make_run({f"q{q}": {d: score for d, (score, _) in docs.items()} for q, docs in enumerate(names)})
    judged = {
        f"q{q}": {
            **{d: grade for d, (_, grade) in docs.items() if grade is not None},
            **{f"m{i}": grade for i, grade in enumerate(missing)},
        }
        for q, docs in enumerate(names)
    }
    return run, make_qrels(judged)


def every_order(found: Gains, scores) -> Gains:
    """One query in all orders of its equal scores, one a row."""
    groups = [list(places) for _, places in itertools.groupby(range(len(scores)), key=scores.__getitem__)]
    orders = [
        [*itertools.chain(*one), *range(len(scores), len(found.ranked))]
        for one in itertools.product(*map(itertools.permutations, groups))
    ]
    return Gains(
        found.ranked[orders],
        found.status[orders],
        np.broadcast_to(found.ideal, (len(orders), len(found.ideal))),
        found.max_grade,
    )


def hold_beside_all_orders(found, missing):
    run, qrels = made(found, missing)
    told = ties(run, qrels)
    every = []
    for q, docs in enumerate(found):
        one = Gains(told.gains.ranked[q], told.gains.status[q], told.gains.ideal[q], told.gains.max_grade)
        every.append(every_order(one, run.scores[q, : len(docs)].tolist()))
    for (i, measure), k in itertools.product(enumerate(EVERY), (1, 3, 5, 8)):
        values = [measure(orders, k) for orders in every]
        counts = (measure.name == "judged") | (told.gains.total(rel=measure.rel) > 0)
        expected = told.expected(measure, k)
        assert (expected is not None) == (i < CLOSED)
        pairs = [(told.lowest(measure, k), np.min), (told.highest(measure, k), np.max)]
        for computed, over in [*pairs, *([(expected, np.mean)] if i < CLOSED else [])]:
            brute = np.where(counts, [over(one) for one in values], np.nan)
            np.testing.assert_allclose(computed, brute, atol=1e-12, err_msg=measure.at(k))


missing_grades = st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=2)


@settings(max_examples=6, deadline=None)
@given(queries, missing_grades)
def test_expected_lowest_and_highest_are_those_of_all_orders(found, missing):
    hold_beside_all_orders(found, missing)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(queries, missing_grades)
def test_expected_lowest_and_highest_are_those_of_all_orders_whatever_the_run(found, missing):
    hold_beside_all_orders(found, missing)


@settings(max_examples=30, deadline=None)
@given(queries)
def test_a_query_is_decided_by_order_where_a_lens_can_differ_and_only_there(found):
    run, qrels = made(found, [1])
    told = ties(run, qrels)
    for k in (1, 3, 6):
        differs = np.zeros(len(found), bool)
        for name in ("precision", "recall", "mrr", "ndcg"):
            spread = told.highest(MEASURES[name], k) - told.lowest(MEASURES[name], k)
            differs |= np.nan_to_num(spread) > 1e-9
        assert told.decisive(k).tolist() == differs.tolist()


def test_three_equal_scores_have_a_reciprocal_rank_of_0_6111_on_average():
    run = make_run({"q": {"dev-plazo": 0.7, "env-coste": 0.7, "gar-dos": 0.7}})
    told = ties(run, make_qrels({"q": {"dev-plazo": 1}}))
    assert told.expected(MEASURES["mrr"], 3)[0] == pytest.approx(11 / 18)
    assert told.lowest(MEASURES["mrr"], 3)[0] == pytest.approx(1 / 3)
    assert told.highest(MEASURES["mrr"], 3)[0] == 1.0
    assert told.decisive(3).tolist() == [True]


def test_a_constant_scorer_is_worth_no_more_than_chance():
    docs = [f"d{i:02}" for i in range(50)]
    told = ties(make_run({"q": dict.fromkeys(docs, 1.0)}), make_qrels({"q": {"d49": 1}}))
    assert evaluate(
        make_run({"q": dict.fromkeys(docs, 1.0)}),
        make_qrels({"q": {"d49": 1}}),
        ks=[10],
        measures=[MEASURES["mrr"]],
    ).mean("mrr", 10) == pytest.approx(1.0)
    assert told.expected(MEASURES["mrr"], 10)[0] == pytest.approx(sum(1 / i for i in range(1, 11)) / 50)
    assert told.expected(MEASURES["precision"], 10)[0] == pytest.approx(1 / 50)


def test_without_equal_scores_there_is_one_value():
    run = make_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "p": {"b": 1.0}})
    qrels = make_qrels({"q": {"b": 1, "c": 2}, "p": {"a": 1}, "missing": {"a": 1}})
    told, found = ties(run, qrels), evaluate(run, qrels, ks=[2], measures=EVERY)
    for i, measure in enumerate(EVERY):
        value = found.values[measure.key, 2]
        for one in [told.lowest, told.highest, *([told.expected] if i < CLOSED else [])]:
            np.testing.assert_allclose(one(measure, 2), value, atol=1e-12, err_msg=str(measure))
    assert not told.decisive(2).any()


def test_scores_that_differ_beyond_single_precision_are_not_equal():
    run = make_run({"q": {"a": 0.30000001192092896, "z": 0.3}})
    told = ties(run, make_qrels({"q": {"a": 1}}))
    assert told.lowest(MEASURES["mrr"], 1)[0] == 1.0


def test_a_score_of_minus_infinity_is_no_empty_place():
    run = make_run({"q": {"a": 1.0, "b": -np.inf, "c": -np.inf}, "p": {"a": 1.0, "b": -np.inf}})
    told = ties(run, make_qrels({"q": {"b": 1}, "p": {"b": 1}}))
    assert told.expected(MEASURES["mrr"], 3).tolist() == pytest.approx([1 / 2, (1 / 2 + 1 / 3) / 2])


def test_a_group_at_the_end_of_a_list_that_was_cut_is_open_from_the_k_that_reaches_it():
    run = make_run(
        {"cut": {"a": 2.0, "b": 1.0, "c": 1.0}, "ended": {"a": 1.0, "b": 1.0}, "none": {}}, docs=["d", "e"]
    )
    told = ties(run, make_qrels({query: {"a": 1} for query in ("cut", "ended", "none")}))
    assert told.open(1).tolist() == [False, False, False]
    assert told.open(2).tolist() == [True, False, False]


def test_a_list_that_holds_every_document_is_not_open():
    told = ties(make_run({"q": {"a": 1.0, "b": 1.0}}), make_qrels({"q": {"a": 1}}))
    assert told.open(2).tolist() == [False]


@pytest.mark.parametrize("name", ["ndcg_retrieved", "context_precision"])
def test_a_measure_whose_ideal_moves_along_has_no_sorted_extreme(name):
    # The worst order for P@3 is the best here: it holds the first place alone to account.
    run = make_run({"q": {"a": 2.0, "b": 1.5, "c": 1.0, "d": 1.0}})
    told = ties(run, make_qrels({"q": {"a": 1, "b": 0, "c": 1, "d": 0}}))
    assert told.lowest(MEASURES[name], 3) is None
    assert told.highest(MEASURES[name], 3) is None
    assert MEASURES[name](told._rising, 3) > MEASURES[name](told._falling, 3)


def test_measures_of_parts_are_not_offered_where_a_collection_has_parts():
    qrels = make_qrels({"q": {"a": 2, "b": 2}}, q={"one": ["a"], "two": ["b"]})
    told = ties(make_run({"q": {"a": 1.0, "b": 1.0}}), qrels)
    assert told.highest(MEASURES["complete"], 1) is None
    assert told.highest(MEASURES["recall"], 1)[0] == 0.5
