"""How alike two rankings are: closed forms, the definitions in a loop, and figures that were published."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_run

from bench.runs import Run
from bench.similarity import matrix, overlap, rbo

DOCS = "abcdefghijklmnopqrstuvwxyz"
RANKING = st.permutations(DOCS[:9]).flatmap(lambda order: st.integers(0, 9).map(lambda n: order[:n]))


def run_of(*rankings: str | list[str]) -> Run:
    return make_run({f"q{i}": list(ranking) for i, ranking in enumerate(rankings)}, docs=DOCS)


def rbo_summed(one: list[str], other: list[str], p: float, *, depth: int = 600) -> float:
    """The definition as an infinite sum of agreements, cut where p^depth is nothing."""
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0 if long else 1.0

    def common(at: int) -> int:
        return len(set(short[:at]) & set(long[:at]))

    def agreement(at: int) -> float:
        at = min(at, len(long))
        invented = common(len(short)) * max(0, at - len(short)) / len(short)
        return (common(at) + invented) / at

    return (1 - p) * sum(p ** (at - 1) * agreement(at) for at in range(1, depth))


def test_the_overlaps_of_the_paper_s_example_are_these():
    one, other = run_of("abcdefg"), run_of("zcavwxy")
    found = [overlap(one, other, k=k)[0] for k in range(1, 8)]
    assert np.round(found, 3).tolist() == [0, 0, 0.667, 0.5, 0.4, 0.333, 0.286]
    average = np.cumsum(found) / np.arange(1, 8)
    assert np.round(average, 3).tolist() == [0, 0, 0.222, 0.292, 0.313, 0.317, 0.312]


@pytest.mark.parametrize(
    ("one", "other", "p", "value"),
    [
        ("abcdefg", "bacdefg", 0.9, 0.9),  # only depth 1 disagrees, and weighs 1 - p
        ("abcdefg", "bacdefg", 0.5, 0.5),
        ("abcde", "bcdae", 0.9, 0.828),
        ("ab", "ba", 0.8, 0.8),
        ("a", "ba", 0.9, 0.45),  # 0 at depth 1, and one of two from depth 2 on
        ("ab", "a", 0.9, 1.0),
        ("abc", "xyz", 0.9, 0.0),
    ],
)
def test_rbo_has_the_values_of_other_programs_and_of_its_closed_forms(one, other, p, value):
    assert rbo(run_of(one), run_of(other), p=p)[0] == pytest.approx(value)


@settings(max_examples=50, deadline=None)
@given(RANKING, RANKING, st.floats(0.05, 0.95))
def test_rbo_is_the_sum_over_all_depths_of_the_agreement_seen_and_assumed(one, other, p):
    assert rbo(run_of(one), run_of(other), p=p)[0] == pytest.approx(rbo_summed(one, other, p), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(RANKING, RANKING, st.integers(1, 12))
def test_overlap_is_the_share_of_the_longer_list_that_is_common(one, other, k):
    top, rest = set(one[:k]), set(other[:k])
    expected = len(top & rest) / max(len(top), len(rest)) if top or rest else 1.0
    assert overlap(run_of(one), run_of(other), k=k)[0] == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(RANKING, RANKING), min_size=1, max_size=4))
def test_queries_do_not_meet_and_both_measures_are_symmetric_within_0_and_1(pairs):
    one, other = (run_of(*side) for side in zip(*pairs, strict=True))
    for of in (rbo, lambda a, b: overlap(a, b, k=3)):
        alone = [of(run_of(a), run_of(b))[0] for a, b in pairs]
        assert of(one, other) == pytest.approx(alone, abs=1e-12)
        assert of(other, one) == pytest.approx(alone, abs=1e-12)
        assert of(one, one) == pytest.approx(np.ones(len(pairs)))
        assert all(-1e-12 <= value <= 1 + 1e-12 for value in alone)


def test_disjoint_and_empty_lists_have_nothing_in_common_and_two_empty_ones_are_alike():
    one, other = run_of("abc", "", ""), run_of("xyz", "ab", "")
    assert rbo(one, other).tolist() == [0, 0, 1]
    assert overlap(one, other, k=3).tolist() == [0, 0, 1]


def test_a_matrix_has_the_mean_over_queries_of_every_pair_once():
    runs = [run_of("abc", "ab"), run_of("abd", "xy"), run_of("xyz", "ab")]
    found = matrix(runs, lambda one, other: overlap(one, other, k=3))
    assert found == pytest.approx(np.array([[1, 1 / 3, 1 / 2], [1 / 3, 1, 0], [1 / 2, 0, 1]]))
    for one, other in itertools.combinations(range(3), 2):
        assert found[one, other] == overlap(runs[one], runs[other], k=3).mean()


def test_runs_over_other_queries_or_documents_are_refused():
    other = make_run({"q0": ["a"]}, docs="ab")
    with pytest.raises(ValueError, match="the same queries and one vocabulary"):
        overlap(run_of("a"), other, k=1)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        rbo(run_of("a"), run_of("a"), p=1)
