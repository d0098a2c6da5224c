"""A run is in order when it is made, and says no to what cannot be ordered."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import make_run, ranking_of

from bench.errors import BenchError
from bench.ids import Ids
from bench.runs import Run


def test_order_is_by_score_and_then_by_id_descending():
    run = make_run({"q": {"b": 1.0, "a": 2.0, "c": 1.0}})
    assert ranking_of(run, "q") == ["a", "c", "b"]


def test_ids_are_compared_as_utf_8_bytes():
    assert list(Ids(["z", "ñ", "Z", "é", "😀", "\uffff"])) == ["😀", "\uffff", "ñ", "é", "z", "Z"]
    assert list(Ids("ab")) == sorted("ab", key=lambda i: i.encode(), reverse=True)


def test_nan_is_refused_and_infinities_are_ordered():
    with pytest.raises(BenchError, match="query q: a score is NaN"):
        make_run({"q": {"a": float("nan")}})
    run = make_run({"q": {"low": -np.inf, "mid": 0.0, "top": np.inf}})
    assert ranking_of(run, "q") == ["top", "mid", "low"]


def test_a_document_that_stands_twice_is_refused_by_name():
    ids = Ids("ab")
    with pytest.raises(BenchError, match="query q: document a stands twice"):
        Run(("q",), ids, np.array([[1, 0, 1]]), np.array([[3.0, 2.0, 1.0]]))


def test_empty_places_stay_behind_and_may_be_many():
    ids = Ids("ab")
    run = Run(("q",), ids, np.array([[-1, 0, -1]]), np.array([[9.0, 1.0, 9.0]]))
    assert run.rows.tolist() == [[0, -1, -1]]
    assert run.returned.tolist() == [1]


def test_reordering_the_head_leaves_the_tail_below_in_its_order():
    run = make_run({"q": ["a", "b", "c", "d"]}).as_stage("first")
    again = run.reordered(np.array([[0.1, 7.0]]))
    assert ranking_of(again, "q") == ["b", "a", "c", "d"]
    assert again.stages["first"].ranks.tolist() == [[2, 1, 3, 4]]
    assert (np.diff(again.scores[0]) < 0).all()


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e12, 1e30, -1e30])
def test_the_tail_stays_in_its_order_whatever_the_size_of_the_scores(size):
    run = make_run({"q": [f"d{i:03}" for i in range(200)]})
    again = run.reordered(np.array([[size, size * 2]]))
    assert ranking_of(again, "q")[2:] == ranking_of(run, "q")[2:]


def test_a_table_gives_the_run_back_with_its_stages_and_unanswered_queries():
    run = make_run({"p": {"a": 0.1, "b": 1 / 3}, "q": {}, "r": {"c": 5.0}}).as_stage("first")
    back = Run.from_table(run.to_table(), queries=run.queries, docs=run.docs)
    assert back.rows.tolist() == run.rows.tolist()
    assert back.scores.tolist() == run.scores.tolist()
    assert back.stages["first"].ranks.tolist() == run.stages["first"].ranks.tolist()


def test_a_table_of_another_collection_is_refused():
    table = make_run({"q": ["a"]}).to_table()
    with pytest.raises(BenchError, match="not in this collection"):
        Run.from_table(table, queries=("q",), docs=Ids(["b"]))


def test_a_run_that_is_in_order_already_is_like_one_that_was_put_in_order_and_shares_nothing():
    random = np.random.default_rng(1)
    ids = Ids(f"{i:02}" for i in range(20))
    rows = np.stack([random.permutation(20) for _ in range(200)])
    rows[random.random(rows.shape) < 0.3] = -1
    scores = random.choice([-np.inf, -1.0, 0.0, 1.0, np.inf], rows.shape)
    run = Run(tuple(map(str, range(200))), ids, rows, scores)
    again = Run(run.queries, ids, run.rows, run.scores).as_stage("first")
    assert again.rows.tolist() == run.rows.tolist()
    assert again.scores.tolist() == run.scores.tolist()
    for one, other in ((again.rows, run.rows), (again.top(3).rows, again.rows)):
        assert not np.shares_memory(one, other)
    assert not np.shares_memory(again.top(3).stages["first"].scores, again.stages["first"].scores)


def test_arguments_are_not_modified():
    rows, scores = np.array([[0, 1]]), np.array([[1.0, 2.0]])
    Run(("q",), Ids("ab"), rows, scores)
    assert rows.tolist() == [[0, 1]] and scores.tolist() == [[1.0, 2.0]]
