import numpy as np
import pytest

from bench.errors import BenchError
from bench.fusion import ReciprocalRank, WeightedSum, z_scores
from bench.ids import Ids
from bench.runs import Run

DOCS = Ids("abcXYZ")


def run(*lists):
    """A run of one query a list, each a mapping of document to score."""
    depth = max(map(len, lists))
    rows = np.full((len(lists), depth), -1)
    scores = np.full((len(lists), depth), -np.inf)
    for query, hits in enumerate(lists):
        rows[query, : len(hits)] = DOCS.rows(hits)
        scores[query, : len(hits)] = list(hits.values())
    return Run(tuple(f"q{i}" for i in range(len(lists))), DOCS, rows, scores)


def ranked(*docs):
    return run({doc: float(-rank) for rank, doc in enumerate(docs)})


def hits(fused, query=0):
    found = fused.rows[query] >= 0
    return dict(
        zip(fused.docs.take(fused.rows[query][found]).to_pylist(), fused.scores[query][found], strict=True)
    )


def fuse(method, depth=100, weights=None, **runs):
    return method.fuse(runs, dict.fromkeys(runs, 1.0) | (weights or {}), depth=depth)


def test_ranks_count_from_one_and_a_missing_document_gets_no_rank():
    fused = hits(fuse(ReciprocalRank(), dense=ranked("X", "a", "Y"), sparse=ranked("b", "c", "Y")))
    assert list(fused) == ["Y", "b", "X", "c", "a"]
    assert [round(score, 6) for score in fused.values()] == [0.031746, 0.016393, 0.016393, 0.016129, 0.016129]


def test_equal_ranks_in_another_order_are_a_true_tie_over_three_sides():
    # 1/61 + 1/67 + 1/62 differs in its last bit from 1/62 + 1/61 + 1/67.
    docs = Ids("abcdefghijklmnopq")
    runs = {
        side: Run(("q",), docs, docs.rows(order)[np.newaxis], -np.arange(7.0)[np.newaxis])
        for side, order in {"u": "abcdefg", "v": "bhijkla", "w": "manopqb"}.items()
    }
    fused = hits(ReciprocalRank().fuse(runs, dict.fromkeys(runs, 1.0), depth=2))
    assert list(fused) == ["b", "a"]
    assert fused["a"] == fused["b"]


def test_a_fused_run_remembers_rank_and_score_of_every_side():
    fused = fuse(ReciprocalRank(), dense=run({"a": 0.9, "b": 0.8}), sparse=run({"b": 7.0}))
    assert list(hits(fused)) == ["b", "a"]
    assert fused.stages["dense"].ranks.tolist() == [[2, 1]]
    assert fused.stages["dense"].scores.tolist() == [[0.8, 0.9]]
    assert fused.stages["sparse"].ranks.tolist() == [[1, 0]]
    assert fused.stages["sparse"].scores.tolist() == [[7.0, -np.inf]]


@pytest.mark.parametrize("scores", [{"a": 0.4, "b": 0.4}, {"a": 0.4}])
def test_equal_scores_and_a_single_hit_are_hits_like_the_best(scores):
    fused = hits(fuse(WeightedSum(normalise="min_max"), side=run(scores)))
    assert set(fused.values()) == {1.0}


@pytest.mark.parametrize("scores", [{"a": 0.1, "b": 0.1, "c": 0.1}, {"a": 0.4}])
def test_equal_scores_have_no_deviation_and_still_beat_what_was_not_found(scores):
    fused = hits(fuse(WeightedSum(), side=run(scores), other=run({"X": 2.0, "Y": 1.0})))
    assert fused == pytest.approx({"X": 0.0, "Y": -2.0} | dict.fromkeys(scores, -1.0))


def test_z_scores_are_distances_in_population_deviations():
    fused = hits(fuse(WeightedSum(), side=run({"a": 3.0, "b": 2.0, "c": 1.0})))
    assert fused == pytest.approx({"a": 1.5**0.5, "b": 0.0, "c": -(1.5**0.5)})


def test_a_missing_document_never_beats_the_last_hit_of_that_side():
    side = run({"X": 9.0, "a": 1.0, "b": 0.9, "c": 0.8})
    fused = hits(fuse(WeightedSum(), side=side, other=run({"a": 1.0, "b": 0.5, "c": 0.4, "Z": 0.4})))
    assert fused["c"] >= fused["Z"]


@pytest.mark.parametrize("method", [ReciprocalRank(), WeightedSum(), WeightedSum(normalise="min_max")])
def test_an_empty_side_leaves_the_order_of_the_other(method):
    side = run({"a": 3.0, "b": 1.0, "X": 2.0}, {"Y": 1.0}, {})
    fused = fuse(method, side=side, empty=run({}, {}, {}))
    assert fused.rows.tolist() == side.rows.tolist()
    assert not np.isnan(fused.scores).any()


def test_scores_of_any_size_are_normalised_without_overflow():
    side = run({"a": 1e300, "b": 0.0, "c": -1e300})
    assert hits(fuse(WeightedSum(), side=side)) == pytest.approx({"a": 1.5**0.5, "b": 0.0, "c": -(1.5**0.5)})


def test_infinite_scores_are_refused_where_scores_are_added_and_taken_where_ranks_are():
    side = run({"a": np.inf, "b": 1.0})
    assert list(hits(fuse(ReciprocalRank(), side=side))) == ["a", "b"]
    for normalise in ("min_max", "z_score"):
        with pytest.raises(BenchError, match="infinite scores cannot be normalised"):
            fuse(WeightedSum(normalise=normalise), side=side)


def test_weights_say_which_side_wins_and_depth_cuts():
    sides = {"u": ranked("a", "b"), "v": ranked("X", "Y")}
    assert list(hits(fuse(ReciprocalRank(), weights={"v": 0.5}, **sides))) == ["a", "b", "X", "Y"]
    assert list(hits(fuse(ReciprocalRank(), weights={"u": 0.5}, depth=3, **sides))) == ["X", "Y", "a"]


def test_queries_are_fused_each_on_its_own():
    fused = fuse(ReciprocalRank(), u=run({"a": 1.0}, {"b": 1.0}), v=run({"c": 1.0}, {"b": 1.0}))
    assert list(hits(fused, 0)) == ["c", "a"]
    assert hits(fused, 1) == {"b": pytest.approx(2 / 61)}


def test_z_scores_of_no_hit_and_of_no_query_are_zero_and_nothing():
    assert z_scores(np.full((1, 2), -np.inf), np.zeros((1, 2), bool)).tolist() == [[0.0, 0.0]]
    assert z_scores(np.zeros((0, 3)), np.zeros((0, 3), bool)).shape == (0, 3)


def test_runs_over_other_queries_or_documents_are_not_fused():
    other = Run(("q0",), Ids("abc"), np.array([[0]]), np.array([[1.0]]))
    for wrong in (other, run({"a": 1.0}, {"a": 1.0})):
        with pytest.raises(ValueError, match="share their queries and their vocabulary"):
            fuse(ReciprocalRank(), u=run({"a": 1.0}), v=wrong)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_below_zero_or_without_a_value_are_refused(weight):
    with pytest.raises(BenchError, match=r"fusion\.sides\.u\.weight="):
        fuse(ReciprocalRank(), u=run({"a": 1.0}), weights={"u": weight})


def test_settings_are_checked_when_made():
    with pytest.raises(BenchError, match=r"fusion\.rank_constant=-1"):
        ReciprocalRank(rank_constant=-1)
    with pytest.raises(BenchError, match=r"fusion\.normalise='zscore'; did you mean 'z_score'"):
        WeightedSum(normalise="zscore")
