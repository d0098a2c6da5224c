"""Cases 19 and 20 and their kin: what a side says of a document that it did not find, and of equal scores."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases.everything import each_fusion, fusion_of
from tests.conftest import make_run, ranking_of

from bench.fusion import ReciprocalRank, WeightedSum

DOCS = [*"abcXYZ"]


def fused(option, depth=10, **sides):
    """`{document: score}` of one query whose sides are rankings, or scores by document."""
    runs = {name: make_run({"q": side}, docs=DOCS) for name, side in sides.items()}
    method = option if isinstance(option, WeightedSum) else fusion_of(option)
    run = method.fuse(runs, dict.fromkeys(runs, 1.0), depth=depth)
    return dict(zip(ranking_of(run, "q"), run.scores[0].tolist(), strict=False))


# Case 19: ranks counted from 0, and a document that a side had missed was given a rank there.


@pytest.mark.parametrize("option", ["rrf", "rrf_three"])
def test_reciprocal_ranks_count_from_one_and_a_missing_document_has_none(option):
    scores = fused(option, dense=["X", "a", "Y"], sparse=["b", "c", "Y"])
    assert list(scores) == ["Y", "b", "X", "c", "a"]
    assert scores["Y"] == pytest.approx(0.031746, abs=5e-7)
    assert scores["b"] == scores["X"] == pytest.approx(0.016393, abs=5e-7)


@each_fusion
def test_a_document_that_both_sides_have_goes_before_those_that_one_has_at_the_same_rank(option):
    scores = fused(option, one=["Z", "Y", "a"], two=["X", "Y", "b"])
    assert list(scores).index("Y") < min(list(scores).index(doc) for doc in "ab")


@each_fusion
def test_a_side_says_nothing_of_what_it_did_not_find_beyond_its_last_place(option):
    # With or without further documents below it, nothing that the side lacks may pass what it has.
    scores = fused(option, one={"a": 3.0, "b": 2.0, "c": 1.0}, two={"X": 3.0, "Y": 2.0, "c": 1.0})
    assert scores["a"] == pytest.approx(scores["X"])
    assert scores["b"] == pytest.approx(scores["Y"])
    assert scores["c"] >= min(scores.values())


def test_the_constant_is_sixty_unless_said_otherwise():
    assert (
        fusion_of("rrf").rank_constant
        == fusion_of("rrf_three").rank_constant
        == ReciprocalRank().rank_constant
        == 60
    )


# Case 20: equal scores, a single hit or an empty side made NaN, or decided the order.

ODD_SIDES = {
    "two equal": {"a": 0.4, "b": 0.4},
    "one hit": {"a": 0.4},
    "equal to zero": {"a": 0.0, "b": 0.0, "c": 0.0},
    "below zero": {"a": -0.4, "b": -0.4},
    "nothing": {},
    "far apart": {"a": 1e300, "b": -1e300},
    "next to each other": {"a": float(np.nextafter(0.4, 1)), "b": 0.4},
}
each_odd = pytest.mark.parametrize("odd", ODD_SIDES)


@each_fusion
@each_odd
@pytest.mark.parametrize("other", ["nothing", "one hit", "two equal", "plain"])
def test_no_list_of_scores_makes_nan(option, odd, other):
    sides = {
        "one": ODD_SIDES[odd],
        "two": {"X": 3.0, "Y": 2.0, "a": 1.0} if other == "plain" else ODD_SIDES[other],
    }
    scores = fused(option, **sides)
    assert set(scores) == set(sides["one"]) | set(sides["two"])
    assert np.isfinite(list(scores.values())).all()


@each_fusion
@each_odd
def test_an_empty_side_leaves_the_order_of_the_other(option, odd):
    side = ODD_SIDES[odd]
    alone = ranking_of(make_run({"q": side}, docs=DOCS), "q")
    assert list(fused(option, one=side, empty={})) == alone
    assert list(fused(option, empty={}, one=side)) == alone


@pytest.mark.parametrize("normalise", ["min_max", "z_score"])
@pytest.mark.parametrize("odd", ["two equal", "one hit", "equal to zero", "below zero"])
def test_equal_scores_are_worth_what_the_documentation_says(normalise, odd):
    scores = fused(WeightedSum(normalise=normalise), one=ODD_SIDES[odd])
    assert set(scores.values()) == {1.0 if normalise == "min_max" else 0.0}
    said = " ".join(str(WeightedSum.__doc__).split())
    assert "Equal scores, or a single hit, are all 1" in said
    assert "Equal scores, or a single hit, are all 0" in said
