"""A baseline and one system in detail: which, what is exploratory of it, and what could not have moved."""

from __future__ import annotations

import pytest
from tests.unit.test_overview import FIRST, LAST, MIXED, NDCG, SWEEP, made

from bench.errors import BenchError
from bench.metrics import MEASURES
from bench.statistics.before_after import BeforeAfter, before_after

RECALL, RR = MEASURES["recall"], MEASURES["mrr"]


def compared(places=SWEEP, **options) -> BeforeAfter:
    panel, rankings = made(places)
    options = {"baseline": "mixed", "k": 5, "rankings": rankings, **options}
    return before_after(panel, NDCG, **options)


def test_in_detail_is_the_highest_of_the_others():
    assert compared().system == "top"
    assert compared(baseline="top").system == "near"
    assert compared(system="low").system == "low"


def test_only_the_system_in_detail_has_exploratory_rows_and_only_those_asked_for():
    found = compared(also=[(RECALL, 5), (RR, 1), (NDCG, 1)])
    assert {one.system for one in found.comparison.family} == {"low", "top", "near"}
    assert [(one.system, one.measure) for one in found.comparison.exploratory] == [
        ("top", "R@5"), ("top", "RR@1"), ("top", "nDCG@1"),
    ]  # fmt: skip
    assert {one.among for one in found.comparison.exploratory} == {3}


def test_the_exploratory_sentence_says_what_rose_what_chance_explains_and_what_stayed():
    found = compared(also=[(RECALL, 5), (RR, 1)])
    assert found.exploratory_sentence.startswith(
        "Exploratory: RR@1 (+50.0 points, +100.0 % relative) rose. R@5 did"
    )
    assert "both hand on the same 5 documents for every query" in found.exploratory_sentence
    near = compared({"mixed": FIRST, "near": [0] * 29 + [1]}, also=[(RR, 1)])
    assert (
        near.exploratory_sentence
        == "Exploratory: chance alone can explain RR@1 (-3.3 points, -3.3 % relative)."
    )
    assert compared().exploratory_sentence == ""


def test_recall_that_could_have_moved_is_not_explained_by_the_candidates():
    found = compared({"mixed": [5, 0] * 15, "other": [0, 5] * 15}, also=[(RECALL, 5)])
    assert "though 15 queries gained and 15 lost" in found.exploratory_sentence


def test_what_is_told_of_the_pair_is_the_system_minus_the_baseline():
    found = compared(system="low")
    assert found.change.difference < 0
    assert (found.unjudged.low, found.unjudged.high) == pytest.approx([found.change.difference] * 2)
    assert found.power is found.comparison.powers[[c.system for c in found.comparison.family].index("low")]
    assert {one.query for one in found.moved.lost} == set(found.texts)


def test_one_other_system_is_a_family_of_one():
    found = compared({"mixed": MIXED, "low": LAST})
    assert found.comparison.family_sentence == "The family is this one test of nDCG@5, at the level 0.05."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "mixd"}, "there is no system 'mixd'; did you mean 'mixed'"),
        ({"system": "lo"}, "there is no system 'lo'; did you mean 'low'"),
        ({"k": 3}, "there are no values of nDCG@3; k was 1, 5"),
        ({"also": [(RECALL, 3)]}, "there are no values of R@3"),
    ],
)
def test_what_is_not_there_is_refused(options, said):
    with pytest.raises(BenchError, match=said):
        compared(**options)
