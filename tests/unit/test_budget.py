"""Token budgets: the longest prefix that fits, and every measure at the k that it comes to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.budget import chunks_within, evaluate_within, tokens_by_place
from bench.evaluate import evaluate
from bench.metrics import MEASURES

DOCS = "abcdef"
EVERY = list(MEASURES.values())


def lengths_of(run, tokens: dict[str, int]) -> np.ndarray:
    return np.array([tokens.get(doc, 10) for doc in run.docs], np.int64)


def test_a_budget_takes_the_longest_prefix_that_fits_and_never_a_shorter_chunk_further_down():
    run = make_run({"p": ["a", "b", "c"], "q": ["b", "a"], "r": []}, docs=DOCS)
    tokens = tokens_by_place(run, lengths_of(run, {"a": 10, "b": 30, "c": 5}))
    assert tokens.tolist() == [[10, 30, 5], [30, 10, 0], [0, 0, 0]]
    for budget, chunks in [
        (0, [0, 0, 0]),
        (9, [0, 0, 0]),
        (10, [1, 0, 0]),
        (30, [1, 1, 0]),
        (45, [3, 2, 0]),
        (99, [3, 2, 0]),
    ]:
        assert chunks_within(tokens, run.returned, budget=budget).tolist() == chunks


def test_a_chunk_without_tokens_always_fits():
    run = make_run({"q": ["a", "b"]})
    tokens = tokens_by_place(run, lengths_of(run, {"a": 0, "b": 4}))
    assert chunks_within(tokens, run.returned, budget=3).tolist() == [1]


def test_p_divides_by_the_chunks_handed_over_and_the_ideal_of_ndcg_is_over_all_judged_documents():
    run = make_run({"q": ["a", "b", "c", "d"]}, docs=DOCS)
    qrels = make_qrels({"q": {"a": 1, "d": 1, "e": 1}})
    found = evaluate_within(
        run,
        qrels,
        lengths=lengths_of(run, {}),
        budgets=[25, 40],
        measures=[MEASURES["precision"], MEASURES["ndcg"]],
    )
    assert found.mean("precision", 25) == pytest.approx(1 / 2)
    assert found.mean("ndcg", 25) == pytest.approx(1 / (1 + 1 / np.log2(3) + 1 / 2))
    assert found.mean("precision", 40) == pytest.approx(2 / 4)


def test_where_not_even_the_first_chunk_fits_the_query_counts_0_and_nothing_of_it_is_judged():
    run = make_run({"p": ["a"], "q": ["b"]}, docs=DOCS)
    qrels = make_qrels({"p": {"a": 1}, "q": {"b": 1}})
    found = evaluate_within(run, qrels, lengths=lengths_of(run, {"a": 99}), budgets=[10], measures=EVERY)
    for measure in EVERY:
        small, fits = found.values[measure.key, 10]
        if measure.has_k:
            assert np.isnan(small) if measure.name == "judged" else small == 0
        assert fits > 0
    # It was answered; that the answer did not fit is another matter.
    assert found.unanswered.tolist() == [False, False]


def test_queries_without_an_answer_are_left_out_and_judged_queries_that_the_run_lacks_count_0():
    run = make_run({"p": ["a"]}, docs=DOCS)
    qrels = make_qrels({"p": {"a": 0}, "q": {"b": 1}})
    found = evaluate_within(run, qrels, lengths=lengths_of(run, {}), budgets=[10], measures=EVERY)
    assert found.queries == ("p", "q")
    assert np.isnan(found.values["recall", 10][0])
    assert found.values["recall", 10][1] == 0
    assert found.values["judged", 10][0] == 1
    assert found.unanswered.tolist() == [False, True]


RANKING = st.permutations(DOCS).flatmap(lambda order: st.integers(0, 6).map(lambda n: order[:n]))
GRADES = st.dictionaries(st.sampled_from(DOCS), st.sampled_from([-1, 0, 1, 2]), min_size=1)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(RANKING, GRADES), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from(DOCS), st.integers(1, 40)),
    st.integers(0, 150),
)
def test_a_query_has_the_value_that_its_prefix_has_at_its_own_length(queries, tokens, budget):
    rankings = {f"q{i}": list(ranking) for i, (ranking, _) in enumerate(queries)}
    judged = {f"q{i}": grades for i, (_, grades) in enumerate(queries)}
    parts = {"q0": {"one": ["a", "b"], "two": ["c"]}}
    run, qrels = make_run(rankings, docs=DOCS), make_qrels(judged, **parts)
    top = max(grade for grades in judged.values() for grade in grades.values())
    found = evaluate_within(run, qrels, lengths=lengths_of(run, tokens), budgets=[budget], measures=EVERY)
    for row, (query, ranking) in enumerate(sorted(rankings.items())):
        prefix, room = [], budget
        for doc in ranking:
            room -= tokens.get(doc, 10)
            if room < 0:
                break
            prefix.append(doc)
        for measure in EVERY:
            seen = prefix if measure.has_k else ranking
            k = max(1, len(prefix)) if measure.divides_by_k else 99
            alone = evaluate(
                make_run({query: seen}, docs=DOCS),
                make_qrels({query: judged[query]}, **parts),
                ks=[k],
                measures=[measure],
                max_grade=max(top, 1),
            )
            expected = alone.values[measure.key, k][0]
            assert found.values[measure.key, budget][row] == pytest.approx(expected, nan_ok=True), measure.key


def test_a_larger_budget_never_loses_recall():
    random = np.random.default_rng(4)
    rankings = {f"q{i}": random.permutation(list(DOCS)).tolist() for i in range(20)}
    run = make_run(rankings)
    qrels = make_qrels({query: {str(random.choice(list(DOCS))): 1} for query in rankings})
    lengths = random.integers(1, 50, len(run.docs))
    budgets = [0, 20, 40, 80, 160, 400]
    found = evaluate_within(run, qrels, lengths=lengths, budgets=budgets, measures=EVERY)
    for measure in ("recall", "complete", "success", "mrr", "ndcg", "ap", "rbp"):
        means = [found.mean(measure, budget) for budget in budgets]
        assert means == sorted(means)
        assert means[0] == 0
    assert found.mean("recall", 400) == 1


def test_a_long_chunk_that_answers_is_not_better_than_the_same_chunk_and_another_in_its_room():
    run = make_run({"q": ["a", "b", "c"]}, docs=DOCS)
    qrels = make_qrels({"q": {"a": 1, "c": 1}})
    measured = [MEASURES["ndcg"]]
    long, short = (
        evaluate_within(run, qrels, lengths=lengths_of(run, tokens), budgets=[30], measures=measured)
        for tokens in ({"a": 30}, {})
    )
    assert long.mean("ndcg", 30) < short.mean("ndcg", 30)
