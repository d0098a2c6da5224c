"""Paired randomisation against brute force and SciPy, and the corrections against their closed forms."""

from __future__ import annotations

import dataclasses
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.significance import (
    EXACT,
    benjamini_hochberg,
    flips_for,
    holm,
    paired_test,
    paired_tests,
)


def alone(count: int) -> list[str]:
    """Needs of as many queries that share none."""
    return [f"n{i:04}" for i in range(count)]


def p_of(differences: list[float] | np.ndarray, needs: list[str] | None = None, **options) -> float:
    values = np.array(differences, float)
    return paired_test(values, np.zeros(len(values)), needs or alone(len(values)), **options).p


def enumerated(sums: list[int]) -> float:
    """The exact p of whole numbers, where no float is in the way."""
    patterns = list(itertools.product([-1, 1], repeat=len(sums)))
    far = sum(abs(sum(s * x for s, x in zip(p, sums, strict=True))) >= abs(sum(sums)) for p in patterns)
    return far / len(patterns)


def test_floats_that_should_be_equal_are():
    assert p_of([0.1, 0.2, -0.3, 0.4]) == 10 / 16


def test_the_page_of_measures_shows_what_is_computed():
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `([-0-9. ]+)` \| (\d+) \| ([0-9.]+) \|$", page.split("## Tests, the best set")[1], re.M
    )
    assert len(rows) == 4
    for differences, differing, p in rows:
        values = np.array(differences.split(), float)
        test = paired_test(values, np.zeros(len(values)), alone(len(values)))
        assert (f"{test.non_zero}", f"{test.p:.3f}") == (differing, p)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9), st.sampled_from([1, 10, 3, 0.7]))
def test_the_exact_p_is_the_share_of_patterns_whatever_the_unit(whole, unit):
    assert p_of([x / unit for x in whole]) == enumerated(whole)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=9), st.data())
def test_queries_of_a_need_flip_together(whole, data):
    needs = [data.draw(st.sampled_from("abcd")) for _ in whole]
    sums = [sum(x for x, need in zip(whole, needs, strict=True) if need == one) for one in set(needs)]

    test = paired_test(np.array(whole) / 10, np.zeros(len(whole)), needs)

    assert test.p == enumerated(sums)
    assert test.needs == len(sums)
    assert test.non_zero == sum(x != 0 for x in sums)


def test_zeros_are_dropped_and_change_nothing():
    some = [0.3, -0.1, 0.2, 0.25, 0.4, 0.05, -0.2]
    test = paired_test(np.array([*some, *[0.0] * 50]), np.zeros(57), alone(57))

    assert test.p == p_of(some)
    assert (test.non_zero, test.needs, test.ties) == (7, 57, 50)
    assert "128 patterns" in test.method


def test_equal_to_scipys_exact_test():
    random = np.random.default_rng(1)
    a, b = random.random((2, 11))
    theirs = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert paired_test(a, b, alone(11)).p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_on_signed_ranks_it_is_wilcoxons_test():
    differences = np.random.default_rng(2).normal(0.3, 1, 15)
    ranks = scipy.stats.rankdata(np.abs(differences)) * np.sign(differences)
    assert p_of(ranks) == pytest.approx(scipy.stats.wilcoxon(differences, method="exact").pvalue, abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(9, 2), (14, 6), (5, 5)])
def test_on_zeros_and_ones_it_is_the_sign_test(wins, losses):
    theirs = scipy.stats.binomtest(wins, wins + losses).pvalue
    assert p_of([1.0] * wins + [-1.0] * losses) == pytest.approx(theirs, abs=1e-12)


def test_random_flips_agree_with_the_exact_p_of_the_sign_test():
    test = paired_test(np.array([1.0] * 30 + [-1.0] * 16), np.zeros(46), alone(46))
    exact = scipy.stats.binomtest(30, 46).pvalue

    assert test.non_zero > EXACT
    assert "10,000 random flips" in test.method
    assert test.p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000))


def test_a_sampled_p_is_never_zero():
    assert p_of(np.linspace(0.5, 0.9, 40)) == pytest.approx(1 / 10_001)


def test_a_larger_family_takes_more_flips_so_that_it_can_still_be_significant():
    assert (flips_for(1), flips_for(20), flips_for(20, alpha=0.01)) == (10_000, 40_000, 200_000)
    p = p_of(np.linspace(0.5, 0.9, 40), family=100)
    assert p == pytest.approx(1 / 200_001)
    assert 100 * p < 0.05 / 10


def test_identical_systems_have_p_1_and_no_difference():
    values = np.random.default_rng(3).random(30)
    test = paired_test(values, values.copy(), alone(30))

    assert (test.p, test.non_zero, test.wins, test.ties, test.losses) == (1.0, 0, 0, 30, 0)
    assert test.note == "no difference: both have the same value on every query"


def test_systems_that_differ_by_rounding_alone_are_identical():
    values = np.random.default_rng(4).random(30)
    assert paired_test(values, values + 1e-15, alone(30)).note.startswith("no difference")


def test_a_need_whose_queries_cancel_out_says_nothing():
    test = paired_test(np.array([0.1, -0.3, 0.2]), np.zeros(3), ["a", "a", "a"])
    assert (test.p, test.non_zero) == (1.0, 0)
    assert "loses on another of the same need" in test.note


@pytest.mark.parametrize(("count", "possible"), [(1, False), (2, False), (5, False), (6, True)])
def test_below_six_differing_needs_no_result_can_be_significant(count, possible):
    test = paired_test(np.linspace(0.1, 0.4, count), np.zeros(count), alone(count))

    assert (test.p <= 0.05) is possible
    assert test.note.startswith("no result can be significant") is not possible


def test_a_constant_shift_is_said_to_have_no_variance():
    before = np.linspace(0.1, 0.9, 20)
    test = paired_test(before + 0.05, before, alone(20))

    assert test.p == 2 / 2**20
    assert test.note.startswith("zero variance: every query differs by the same +0.050")


def test_queries_without_a_value_from_both_are_left_out_and_counted():
    a, b = np.array([0.5, np.nan, 0.7, 0.9]), np.array([0.1, 0.2, np.nan, 0.4])
    test = paired_test(a, b, ["x", "x", "y", "z"])

    assert (test.queries, test.left_out, test.needs, test.non_zero) == (2, 2, 2, 2)
    assert test.difference == pytest.approx(0.45)
    assert test.p == 0.5


def test_no_query_in_common_is_said():
    test = paired_test(np.array([np.nan, 1.0]), np.array([1.0, np.nan]), ["a", "b"])
    assert np.isnan(test.difference)
    assert (test.p, test.note) == (1.0, "no query has a value from both")


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_the_two_systems_can_change_places(whole):
    a, b = np.array(whole) / 7, np.zeros(len(whole))
    one, other = (paired_test(x, y, alone(len(whole))) for x, y in ((a, b), (b, a)))

    assert one.p == other.p
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)


def test_many_pairs_at_once_are_each_as_if_alone():
    random = np.random.default_rng(5)
    differences = np.where(random.random((60, 5)) < 0.2, np.nan, random.normal(0, 1, (60, 5)))
    differences[:, 4] = np.where(np.arange(60) < 9, differences[:, 4], 0)
    needs = [f"n{i // 2}" for i in range(60)]

    together = paired_tests(differences, needs, family=1)

    assert together == tuple(paired_tests(differences[:, [i]], needs)[0] for i in range(5))


def test_the_order_of_queries_changes_nothing_and_the_seed_does():
    random = np.random.default_rng(6)
    a, b = random.random((2, 80))
    needs, order = [f"n{i % 50}" for i in range(80)], random.permutation(80)

    as_given = paired_test(a, b, needs)
    shuffled = paired_test(a[order], b[order], [needs[i] for i in order])

    assert dataclasses.replace(shuffled, difference=as_given.difference) == as_given
    assert paired_test(a, b, needs, seed=1).p != as_given.p


def test_alpha_is_a_share():
    with pytest.raises(ValueError, match="alpha is between 0 and 1, not 5"):
        p_of([0.1], alpha=5)


# Corrections.


def test_a_p_that_is_no_number_is_not_counted():
    p = np.array([np.nan, 0.01, 0.04])
    assert holm(p) == pytest.approx([np.nan, 0.02, 0.04], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([np.nan, 0.02, 0.04], nan_ok=True)


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_less_and_never_falls():
    assert holm(np.array([0.04, 0.01, 0.03, 0.5])) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert holm(np.array([0.4, 0.6])) == pytest.approx([0.8, 0.8])


shares = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array)


@given(shares)
def test_holm_is_the_smallest_level_at_which_its_steps_reject(p):
    order = np.argsort(p, kind="stable")
    expected, least = np.empty(len(p)), 0.0
    for step, i in enumerate(order):
        least = max(least, min(1.0, (len(p) - step) * p[i]))
        expected[i] = least
    assert holm(p) == pytest.approx(expected, abs=1e-15)


@given(shares)
def test_benjamini_hochberg_is_scipys(p):
    assert benjamini_hochberg(p) == pytest.approx(scipy.stats.false_discovery_control(p), abs=1e-15)


@given(shares)
def test_corrections_keep_the_order_and_never_make_a_p_smaller(p):
    for corrected in (holm(p), benjamini_hochberg(p)):
        assert (corrected >= p - 1e-15).all()
        assert (corrected <= 1).all()
        assert (np.diff(corrected[np.argsort(p)]) >= -1e-15).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-15).all()


def test_nothing_to_correct_is_nothing():
    assert holm(np.array([])).shape == benjamini_hochberg(np.array([])).shape == (0,)
    assert np.isnan(holm(np.full(3, np.nan))).all()


@pytest.mark.slow
def test_equal_systems_differ_significantly_one_time_in_twenty_where_needs_are_whole_and_far_more_where_they_are_not():
    """4 000 comparisons of 60 needs with 1 to 5 queries that agree among themselves."""
    random = np.random.default_rng(7)
    codes = np.repeat(np.arange(60), np.arange(60) % 5 + 1)
    differences = random.normal(0, 1, (60, 4000))[codes] + random.normal(0, 0.5, (len(codes), 4000))
    needs, queries = [f"n{code}" for code in codes], alone(len(codes))

    def rejected(units: list[str]) -> float:
        return np.mean([test.p <= 0.05 for test in paired_tests(differences, units, family=1)])

    assert rejected(needs) == pytest.approx(0.05, abs=0.011)
    assert rejected(queries) > 0.2


@pytest.mark.slow
def test_few_skewed_differences_keep_the_level_too():
    random = np.random.default_rng(8)
    sizes = random.exponential(1, (12, 20_000))
    differences = np.where(random.random(sizes.shape) < 0.5, sizes, -sizes)
    p = np.array([test.p for test in paired_tests(differences, alone(12), family=1)])

    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.005)
    assert (p <= 0.01).mean() == pytest.approx(0.01, abs=0.0025)
