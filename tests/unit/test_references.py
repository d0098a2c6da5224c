"""The reference systems: the oracle against every order, chance as the mean over every order, popularity in a loop."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.evaluate import evaluate
from bench.grid import LENSES
from bench.ids import Ids
from bench.metrics import MEASURES
from bench.references import chance, oracle, popular, references

MEASURED = [MEASURES[name] for name in LENSES]
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4", "q5"]),
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from([-1, 0, 0.5, 1, 2]), min_size=1),
    min_size=1,
).filter(lambda judged: any(grade >= 1 for grades in judged.values() for grade in grades.values()))


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abcde"), st.sampled_from([-1, 0, 0.5, 1, 2]), min_size=1))
def test_oracle_and_chance_are_the_best_and_the_mean_of_every_order(judged):
    qrels = make_qrels({"q": judged})
    if max(judged.values()) < 1:
        assert references(qrels, {}, documents=5, ks=[1]) == {}
        return
    ks = [1, 3, 7]
    orders = {f"q{i}": order for i, order in enumerate(itertools.permutations("abcde"))}
    found = evaluate(make_run(orders), make_qrels(dict.fromkeys(orders, judged)), ks=ks, measures=MEASURED)
    highest, expected = oracle(qrels, ks=ks), chance(qrels, documents=5, ks=ks)
    for cell in itertools.product(LENSES, ks):
        assert highest[cell] == pytest.approx(found.values[cell].max())
        assert expected[cell] == pytest.approx(found.values[cell].mean())


def test_chance_has_its_closed_forms():
    found = chance(make_qrels({"q": {"a": 1}}), documents=10, ks=[4])
    assert found["precision", 4] == pytest.approx(1 / 10)
    assert found["recall", 4] == pytest.approx(4 / 10)
    assert found["mrr", 4] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 10)
    assert found["ndcg", 4] == pytest.approx(sum(1 / np.log2(rank + 1) for rank in range(1, 5)) / 10)


def test_beyond_the_corpus_nothing_stands():
    found = chance(make_qrels({"q": {"a": 1, "b": 1}}), documents=2, ks=[5])
    assert found["precision", 5] == pytest.approx(2 / 5)
    assert found["recall", 5] == found["mrr", 5] == found["ndcg", 5] == 1


@settings(max_examples=50, deadline=None)
@given(QRELS, st.lists(st.sampled_from(["n1", "n2", "n3"]), min_size=5, max_size=5))
def test_popular_ranks_by_how_many_queries_of_other_needs_a_document_answers(judged, assigned):
    needs = {f"q{i + 1}": need for i, need in enumerate(assigned)}
    rankings = {}
    for query in judged:
        others = [grades for other, grades in judged.items() if needs[other] != needs[query]]
        asked = Counter(doc for grades in others for doc, grade in grades.items() if grade >= 1)
        rankings[query] = dict(asked)
    qrels = make_qrels(judged)
    expected = evaluate(make_run(rankings, docs="abcde"), qrels, ks=[1, 2, 9], measures=MEASURED)
    assert popular(qrels, needs, ks=[1, 2, 9]) == pytest.approx(
        {cell: expected.mean(*cell) for cell in itertools.product(LENSES, [1, 2, 9])}
    )


def test_popular_is_not_told_the_answers_of_a_need_by_its_other_queries():
    qrels = make_qrels({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}, "q4": {"b": 1}})
    assert popular(qrels, {}, ks=[2])["recall", 2] == 1
    assert popular(qrels, {"q1": "n", "q2": "n", "q3": "m", "q4": "m"}, ks=[2])["recall", 2] == 0


def test_the_means_are_over_the_queries_with_something_relevant():
    qrels = make_qrels({"q1": {"a": 1}, "q2": {"b": 0}})
    assert oracle(qrels, ks=[1])["recall", 1] == 1
    assert list(references(qrels, {}, documents=4, ks=[1])) == ["random", "popular", "oracle"]


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1, 0, 0.5, 1, 2]), min_size=1))
def test_what_does_not_exist_is_found_by_nobody_and_counts_among_the_relevant(judged):
    qrels, ks = make_qrels({"q": judged}), [1, 3, 7]
    if max(judged.values()) < 1:
        return
    orders = {f"q{i}": order for i, order in enumerate(itertools.permutations("abcd"))}
    run = make_run(orders, docs="abcdef")
    found = evaluate(run, make_qrels(dict.fromkeys(orders, judged)), ks=ks, measures=MEASURED)
    told = references(qrels, {}, documents=4, ks=ks, docs=Ids("abcd"))
    for cell in itertools.product(LENSES, ks):
        assert told["oracle"][cell] == pytest.approx(found.values[cell].max())
        assert told["random"][cell] == pytest.approx(found.values[cell].mean())


def test_what_does_not_exist_is_never_popular():
    qrels = make_qrels({"q1": {"gone": 1, "a": 1}, "q2": {"gone": 1, "a": 1}})
    assert popular(qrels, {}, ks=[1])["mrr", 1] == 1
    assert popular(qrels, {}, ks=[1], docs=Ids("ab"))["recall", 1] == 0.5
    assert popular(qrels, {}, ks=[1], docs=Ids("b"))["recall", 1] == 0
