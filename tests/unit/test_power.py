"""The smallest detectable difference against its formula, and against tests of samples in which it is there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.statistics.power import SIMULATED_BELOW, power
from bench.statistics.significance import paired_test, paired_tests


def alone(count: int) -> list[str]:
    return [f"n{i:04}" for i in range(count)]


def formula(sd: float, count: int, level: float = 0.05) -> float:
    t = scipy.stats.t(count - 1)
    return (t.ppf(1 - level / 2) + t.ppf(0.8)) * sd / math.sqrt(count)


@pytest.mark.parametrize("family", [1, 4])
def test_with_one_query_a_need_it_is_the_textbooks(family):
    differences = np.random.default_rng(1).normal(0.1, 0.3, 60)
    found = power(differences, alone(60), family=family)

    assert found.detectable == pytest.approx(formula(differences.std(ddof=1), 60, 0.05 / family))
    assert (found.needs, found.non_zero, found.simulated) == (60, 60, False)


def test_the_difference_that_was_seen_plays_no_part():
    differences = np.random.default_rng(2).normal(0, 0.3, 50)
    assert power(differences, alone(50)).detectable == pytest.approx(
        power(differences + 0.4, alone(50)).detectable
    )
    few, needs = differences[:15], alone(15)
    assert power(few, needs).detectable == pytest.approx(power(few + 0.4, needs).detectable)


def test_queries_that_share_a_need_count_as_one():
    differences = np.random.default_rng(3).normal(0, 0.3, 40)
    once = power(differences, alone(40))
    thrice = power(np.repeat(differences, 3), [need for need in alone(40) for _ in range(3)])

    assert thrice.needs == 40
    assert thrice.detectable == pytest.approx(once.detectable)


def test_the_standard_deviation_is_the_one_behind_the_clusters_robust_standard_error():
    """With needs of unequal size: that of a ratio of sums (Cochran 1977, chapter 6)."""
    random = np.random.default_rng(4)
    codes = np.sort(random.integers(0, 40, 100))
    differences = random.normal(0.1, 0.3, 40)[codes] + random.normal(0, 0.1, 100)
    residuals = [(differences[codes == code] - differences.mean()).sum() for code in np.unique(codes)]
    count = len(residuals)
    error = math.sqrt(count / (count - 1) * sum(x**2 for x in residuals)) / 100

    found = power(differences, [f"n{code}" for code in codes])

    assert found.sd / math.sqrt(count) == pytest.approx(error)


def test_queries_without_a_value_are_not_counted():
    differences = np.random.default_rng(5).normal(0, 0.3, 40)
    holes = np.concatenate([differences, [np.nan] * 5])
    assert power(holes, alone(45)) == power(differences, alone(40))


@pytest.mark.parametrize("count", [8, 12, 16, 25])
def test_with_few_needs_the_test_itself_finds_it_four_times_in_five(count):
    random = np.random.default_rng(6)
    differences = random.exponential(0.2, count)
    found = power(differences, alone(count))
    centred = (differences - differences.mean()) * math.sqrt(count / (count - 1))
    samples = random.choice(centred, (count, 600))

    def found_with(shift: float) -> float:
        tests = paired_tests(samples + shift, alone(count), family=1)
        return np.mean([test.p <= 0.05 and test.difference * shift > 0 for test in tests])

    assert found.simulated
    # On the side where skewed differences are harder to see. The simulation's own error and this one's, three
    # standard errors together.
    assert min(map(found_with, (found.detectable, -found.detectable))) == pytest.approx(0.8, abs=0.075)


def test_a_simulation_agrees_with_the_formula_where_the_formula_holds():
    differences = np.random.default_rng(7).normal(0, 0.2, SIMULATED_BELOW - 1)
    found = power(differences, alone(SIMULATED_BELOW - 1))
    assert found.simulated
    assert found.detectable == pytest.approx(formula(differences.std(ddof=1), SIMULATED_BELOW - 1), rel=0.08)


def test_few_differing_needs_among_many_are_simulated():
    differences = np.zeros(80)
    differences[:12] = np.random.default_rng(8).normal(0, 0.5, 12)
    found = power(differences, alone(80))

    assert (found.non_zero, found.needs, found.simulated) == (12, 80, True)
    assert found.detectable == pytest.approx(formula(differences.std(ddof=1), 80), rel=0.15)
    assert found == power(differences, alone(80))


def test_a_level_too_strict_to_simulate_stays_with_the_formula():
    differences = np.random.default_rng(13).normal(0, 0.3, 20)
    found = power(differences, alone(20), family=100)
    assert not found.simulated
    assert found.detectable == pytest.approx(formula(differences.std(ddof=1), 20, 0.0005))


def test_needs_of_unequal_size_are_simulated_as_they_are():
    random = np.random.default_rng(9)
    codes = np.repeat(np.arange(20), np.arange(20) % 4 + 1)
    differences = random.normal(0, 0.3, 20)[codes]
    found = power(differences, [f"n{code}" for code in codes])

    assert found.simulated
    assert found.detectable == pytest.approx(formula(found.sd, 20), rel=0.15)


@pytest.mark.parametrize(("count", "family", "least"), [(5, 1, 6), (6, 4, 8)])
def test_too_few_needs_can_show_nothing(count, family, least):
    found = power(np.linspace(-0.3, 0.5, count), alone(count), family=family)
    assert found.detectable == math.inf
    assert (
        f"can show no difference at the level {0.05 / family:.3g}: it takes at least {least}"
        in found.sentence
    )
    assert found.needs_for(10.0) == least
    # And so it is: not even a difference on every need is significant.
    assert paired_test(np.ones(count), np.zeros(count), alone(count)).p > 0.05 / family


def test_just_enough_needs_can_show_something():
    assert math.isfinite(power(np.linspace(-0.3, 0.5, 6), alone(6)).detectable)


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([0.0] * 20, "the two do not differ on any need"),
        ([0.1] * 20, "the differences do not scatter"),
        ([0.1, 0.3] + [0.0] * 50, "only 2 of 52 needs differ, so it cannot be said"),
        ([0.1], "one need cannot show a difference"),
        ([np.nan], "there is no query to show a difference"),
    ],
)
def test_where_nothing_scatters_nothing_is_claimed(differences, said):
    found = power(np.array(differences), alone(len(differences)))
    assert found.detectable is None
    assert said in found.sentence
    assert found.needs_for(0.1) is found.more_needs_for(0.1) is None


@settings(max_examples=30)
@given(st.integers(30, 120), st.floats(0.005, 0.5), st.integers(1, 20))
def test_so_many_needs_detect_it_and_one_fewer_would_not(count, wanted, family):
    differences = np.random.default_rng(count).normal(0, 0.3, count)
    found = power(differences, alone(count), family=family)
    needed = found.needs_for(wanted)
    least = math.ceil(1 - math.log2(found.level))

    assert formula(found.sd, needed, found.level) <= wanted + 1e-12
    assert needed == least or formula(found.sd, needed - 1, found.level) > wanted
    assert found.more_needs_for(wanted) == max(0, needed - count)


@pytest.mark.parametrize("count", [15, 40])
def test_the_smallest_detectable_difference_takes_the_needs_there_are(count):
    found = power(np.random.default_rng(count).normal(0, 0.3, count), alone(count))
    assert found.needs_for(found.detectable * (1 + 1e-9)) == count
    assert found.more_needs_for(found.detectable / 2) > count


def test_a_difference_to_be_found_is_above_0():
    with pytest.raises(ValueError, match=r"above 0, not -0\.1"):
        power(np.random.default_rng(10).random(40), alone(40)).needs_for(-0.1)


def test_it_is_said_in_a_sentence():
    sentence = power(np.random.default_rng(11).normal(0, 0.3, 60), alone(60)).sentence
    assert sentence.startswith("with 60 needs a difference of 0.")
    assert "is found 4 times in 5 (two-sided, at the level 0.05)" in sentence


@pytest.mark.slow
def test_a_difference_of_that_size_is_found_four_times_in_five():
    """Of 3 000 samples from a normal population, with the population's own standard deviation at hand."""
    random = np.random.default_rng(12)
    samples = random.normal(formula(0.3, 50), 0.3, (50, 3000))
    tests = paired_tests(samples, alone(50), family=1)
    assert np.mean([test.p <= 0.05 for test in tests]) == pytest.approx(0.8, abs=0.022)
