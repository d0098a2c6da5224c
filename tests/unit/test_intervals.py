"""Intervals against SciPy, closed forms and, where there are clusters, the same needs with one query each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.intervals import (
    difference_interval,
    difference_intervals,
    lower_bound,
    mean_interval,
    mean_intervals,
    percentile_intervals,
)
from bench.statistics.resampling import Resamples


def alone(count: int, resamples: int = 2000) -> Resamples:
    """Resamples of as many queries that share no need."""
    return Resamples.of([f"{i:04}" for i in range(count)], resamples=resamples)


def skewed(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(0.4, 0.9, shape)


def ends(interval) -> tuple[float, float]:
    return interval.lo, interval.hi


def scipy_bca(values: np.ndarray, resamples: Resamples, level: float = 0.95) -> tuple[float, float]:
    """SciPy's BCa interval on our resamples."""
    drawn = scipy.stats.bootstrap((values,), np.mean, n_resamples=2, method="percentile", rng=0)
    drawn.bootstrap_distribution = resamples.means(values)
    return tuple(
        scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=0, bootstrap_result=drawn, confidence_level=level, method="BCa"
        ).confidence_interval
    )


# Means.


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_interval_of_a_mean_is_scipys_bca(level):
    values, resamples = skewed(60), alone(60)
    found = mean_interval(values, resamples, level=level)
    assert found.method == "BCa"
    assert ends(found) == pytest.approx(scipy_bca(values, resamples, level), abs=1e-12)


def test_with_resamples_of_its_own_scipy_finds_the_same_interval():
    values = skewed(80)
    theirs = scipy.stats.bootstrap((values,), np.mean, n_resamples=10_000, method="BCa", rng=1)
    found = mean_interval(values, alone(80, 10_000))
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval), abs=0.003)


def test_bca_leans_towards_the_long_tail():
    values = 1 - skewed(60)
    found = mean_interval(values, alone(60))
    assert values.mean() - found.lo > found.hi - values.mean()


@pytest.mark.parametrize(("ones", "count"), [(1, 10), (7, 12), (40, 50), (199, 200)])
def test_the_interval_of_zeros_and_ones_is_wilsons(ones, count):
    values = np.repeat([1.0, 0.0], [ones, count - ones])
    expected = scipy.stats.binomtest(ones, count).proportion_ci(method="wilson")
    found = mean_interval(values, alone(count))
    assert found.method == "Wilson"
    assert ends(found) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize("count", [10, 50, 264])
def test_where_all_are_right_the_interval_is_clopper_and_pearsons(count):
    exact = scipy.stats.binomtest(count, count).proportion_ci(method="exact")
    for value, expected in ((1.0, tuple(exact)), (0.0, (0.0, 1 - exact.low))):
        found = mean_interval(np.full(count, value), alone(count))
        assert found.method == "Clopper-Pearson"
        assert ends(found) == pytest.approx(expected, abs=1e-12)


def test_where_all_have_another_value_as_many_as_clopper_and_pearson_allow_may_be_at_either_end():
    others = 1 - scipy.stats.binomtest(30, 30).proportion_ci(method="exact").low
    found = mean_interval(np.full(30, 0.25), alone(30))
    assert ends(found) == pytest.approx((0.25 * (1 - others), 0.25 * (1 - others) + others), abs=1e-12)


@pytest.mark.parametrize("losses", [1, 3, 5])
def test_a_few_losses_of_everything_may_be_as_many_as_clopper_and_pearson_allow(losses):
    differences = np.repeat([-1.0, 0.0], [losses, 40 - losses])
    exact = scipy.stats.binomtest(losses, 40).proportion_ci(method="exact")
    found = difference_interval(differences, alone(40))
    assert found.method == "Learned-Miller-Thomas"
    assert found.lo == pytest.approx(-exact.high, abs=0.005)


def test_every_further_unlike_need_lowers_the_interval():
    values, found = np.ones(60), []
    for query in range(6):
        found.append(mean_interval(values, alone(60)))
        values[query] = 0.5
    assert [one.method for one in found] == ["Clopper-Pearson", *["Learned-Miller-Thomas"] * 5]
    for before, after in itertools.pairwise(found):
        assert after.lo < before.lo
        assert after.hi < before.hi


def test_below_ten_needs_there_is_no_interval():
    assert mean_interval(skewed(9), alone(9)) is None
    assert mean_interval(skewed(10), alone(10)) is not None
    assert mean_interval(np.ones(9), alone(9)) is None
    two_each = Resamples.of([str(i // 2) for i in range(18)], resamples=100)
    assert mean_interval(skewed(18), two_each) is None
    assert lower_bound(skewed(9), alone(9)) is None


@given(st.integers(10, 40), st.integers(1, 4))
def test_an_interval_lies_in_the_range_of_the_measure_and_holds_the_mean(count, kinds):
    values = np.random.default_rng(count).choice([0.0, 1.0, 1 / 3, 0.5][:kinds], count)
    found = mean_interval(values, alone(count, 200))
    assert 0 <= found.lo <= values.mean() + 1e-9
    assert values.mean() - 1e-9 <= found.hi <= 1


# Left out queries and clusters.


@pytest.mark.parametrize("kind", ["BCa", "Wilson", "Clopper-Pearson", "Learned-Miller-Thomas", "t"])
def test_queries_of_one_need_that_agree_say_what_one_query_says(kind):
    count, random = 50, np.random.default_rng(5)
    values = {
        "BCa": skewed(count),
        "t": skewed(count),
        "Wilson": random.integers(0, 2, count).astype(float),
        "Clopper-Pearson": np.ones(count),
        "Learned-Miller-Thomas": np.repeat([0.5, 1.0], [3, count - 3]),
    }[kind]
    thrice = Resamples.of([f"{i:04}" for i in range(count) for _ in range(3)], resamples=2000)

    def found(values, resamples):
        if kind == "t":
            return difference_interval(values, resamples)
        return mean_interval(values, resamples)

    one, three = found(values, alone(count)), found(np.repeat(values, 3), thrice)
    assert one.method == three.method == kind
    assert ends(one) == pytest.approx(ends(three), abs=1e-10)


def test_queries_that_disagree_within_their_need_are_worth_more_than_one_and_not_more_than_themselves():
    random = np.random.default_rng(6)
    values = random.integers(0, 2, 120).astype(float)
    pairs = Resamples.of([str(i // 2) for i in range(120)], resamples=100)
    agreeing = np.repeat(values[:60], 2)
    width = {
        name: np.diff(ends(mean_interval(v, r)))[0]
        for name, v, r in (
            ("mixed", values, pairs),
            ("agreeing", agreeing, pairs),
            ("alone", values, alone(120)),
        )
    }
    assert width["alone"] <= width["mixed"] < width["agreeing"]


@pytest.mark.parametrize(("ones", "tolerance"), [(1.0, 1e-12), (0.7, 0.02)])
def test_left_out_queries_might_as_well_not_be_there(ones, tolerance):
    values = np.random.default_rng(7).integers(0, 2, 40) * ones
    padded = np.full(60, np.nan)
    padded[:40] = values
    found, expected = (mean_interval(v, alone(len(v), 10_000)) for v in (padded, values))
    assert ends(found) == pytest.approx(ends(expected), abs=tolerance)
    assert difference_interval(padded, alone(60)) == difference_interval(values, alone(40))


def test_all_cells_at_once_are_each_cell_by_itself():
    values = np.stack(
        [
            skewed(90),
            np.ones(90),
            np.repeat([0.5, 1.0], [3, 87]),
            np.repeat([0.0, 1.0], 45),
            skewed(90, seed=3),
        ],
        axis=1,
    )
    values[:20, 4], values[:85, 0] = np.nan, np.nan
    resamples = alone(90)
    together = mean_intervals(values, resamples)
    assert together.methods == ("", "Clopper-Pearson", "Learned-Miller-Thomas", "Wilson", "BCa")
    for cell in range(5):
        own = mean_interval(values[:, cell], resamples)
        assert (own is None) == (together.at(cell) is None) == (cell == 0)
        if own:
            assert ends(together.at(cell)) == pytest.approx(ends(own), abs=1e-12)
    assert np.isnan(together.lo[0])


def test_no_cell_is_no_trouble():
    assert mean_intervals(np.zeros((20, 0)), alone(20)).methods == ()


# Differences.


@pytest.mark.parametrize(("count", "method"), [(10, "t"), (79, "t"), (80, "BCa")])
def test_a_difference_has_students_interval_below_80_needs_and_the_bootstraps_from_there(count, method):
    values, resamples = skewed(count) - skewed(count, seed=1), alone(count)
    found = difference_interval(values, resamples)
    assert found.method == method
    if method == "t":
        expected = scipy.stats.ttest_1samp(values, 0).confidence_interval()
    else:
        expected = scipy_bca(values, resamples)
    assert ends(found) == pytest.approx(tuple(expected), abs=1e-12)


def test_the_standard_error_between_needs_of_unequal_size_is_that_of_the_ratio_estimator():
    sizes = [1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 2, 2]
    needs = [f"{i:02}" for i, size in enumerate(sizes) for _ in range(size)]
    values = skewed(len(needs)) - 0.5
    totals = np.array([values[[n == need for n in needs]].sum() for need in sorted(set(needs))])
    residuals = totals - values.mean() * np.array(sizes)
    error = np.sqrt(12 / 11 * (residuals**2).sum()) / len(needs)
    half = scipy.stats.t(11).ppf(0.975) * error
    found = difference_interval(values, Resamples.of(needs, resamples=100))
    assert ends(found) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-12)


def test_the_one_sided_bound_is_the_lower_end_of_the_interval_that_leaves_as_much_out_on_either_side():
    values = skewed(40) - skewed(40, seed=1)
    expected = scipy.stats.ttest_1samp(values, 0, alternative="greater").confidence_interval().low
    assert lower_bound(values, alone(40)) == pytest.approx(expected, abs=1e-12)


def test_systems_without_any_difference_may_differ_on_as_many_needs_as_clopper_and_pearson_allow():
    found = difference_interval(np.zeros(50), alone(50))
    others = 1 - scipy.stats.binomtest(50, 50).proportion_ci(method="exact").low
    assert found.method == "Clopper-Pearson"
    assert ends(found) == pytest.approx((-others, others), abs=1e-12)
    assert lower_bound(np.zeros(148), alone(148)) < -0.02 < lower_bound(np.zeros(149), alone(149))


@pytest.mark.parametrize(("differing", "excludes_zero"), [(1, False), (5, False), (6, True)])
def test_fewer_than_six_differences_exclude_nothing_as_with_signs(differing, excludes_zero):
    values = np.repeat([1.0, 0.0], [differing, 40 - differing])
    assert (difference_interval(values, alone(40)).lo > 0) == excludes_zero


def test_differences_of_equal_values_that_rounding_made_are_no_differences():
    values = np.full(40, 0.1 + 0.2 - 0.3)
    assert difference_interval(values, alone(40)).method == "Clopper-Pearson"


# Percentiles.


def test_the_interval_of_a_percentile_is_that_of_scipys_bootstrap():
    values = np.random.default_rng(12).gamma(2, 3, 120)
    theirs = scipy.stats.bootstrap(
        (values,),
        lambda x, axis: np.percentile(x, 95, axis=axis),
        n_resamples=20_000,
        method="percentile",
        rng=0,
    ).confidence_interval
    found = percentile_intervals(values, alone(120, 20_000), percents=[50, 95]).at(1)
    assert ends(found) == pytest.approx(tuple(theirs), rel=0.03)


def test_calls_of_one_query_that_agree_say_what_one_call_says():
    values = np.random.default_rng(13).gamma(2, 3, 60)
    repeated = Resamples.of([f"{i:04}" for i in range(60) for _ in range(8)], resamples=2000)
    one = percentile_intervals(values, alone(60), percents=[50]).at(0)
    eight = percentile_intervals(np.repeat(values, 8), repeated, percents=[50]).at(0)
    assert eight.hi - eight.lo == pytest.approx(one.hi - one.lo, rel=0.15)


def test_a_percentile_of_calls_of_fewer_than_ten_queries_has_no_interval():
    repeated = Resamples.of([str(i) for i in range(9) for _ in range(50)], resamples=100)
    found = percentile_intervals(skewed(450), repeated, percents=[50, 95])
    assert (found.at(0), found.at(1)) == (None, None)


# Coverage. 2 000 samples leave a standard error of 0.005 on a share of 0.95.


def misses(values: np.ndarray, truth: float, resamples: Resamples) -> tuple[float, float]:
    """How often the interval of a column lies above the truth, and below it."""
    found = mean_intervals(values, resamples)
    return float((found.lo > truth).mean()), float((found.hi < truth).mean())


def clustered(count: int, samples: int, draw) -> tuple[np.ndarray, Resamples]:
    """Samples [q, samples] of needs with 1, 2 and 3 queries, half of which repeat the need's first."""
    random, columns, needs = np.random.default_rng(8), [], []
    for need in range(count):
        size = 1 + need % 3
        base, own = draw(random, (1, samples)), draw(random, (size, samples))
        columns.append(np.where(random.random((1, samples)) < 0.5, base, own))
        needs += [f"{need:04}"] * size
    return np.concatenate(columns), Resamples.of(needs, resamples=2000)


DRAWS = {
    "skewed": (lambda random, shape: random.beta(0.3, 0.9, shape), 0.25),
    "recall": (
        lambda random, shape: random.choice([0, 1 / 3, 0.5, 1], shape, p=[0.1, 0.1, 0.2, 0.6]),
        11 / 15,
    ),
    "ceiling": (lambda random, shape: random.choice([0, 0.5, 1], shape, p=[0.02, 0.03, 0.95]), 0.965),
    "shares": (lambda random, shape: (random.random(shape) < 0.8).astype(float), 0.8),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", [50, 200])
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("kind", ["alone", "clustered"])
def test_95_percent_intervals_of_means_hold_the_truth_in_92_to_99_percent(count, name, kind):
    draw, truth = DRAWS[name]
    if kind == "alone":
        values, resamples = draw(np.random.default_rng(9), (count, 2000)), alone(count)
    else:
        values, resamples = clustered(count, 2000, draw)
    above, below = misses(values, truth, resamples)
    assert 0.01 <= above + below <= 0.08
    assert max(above, below) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("count", [50, 100, 264])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_a_rare_loss_exceeds_its_one_sided_95_percent_bound_in_hardly_more_than_5_percent(count, share):
    losses = -1.0 * (np.random.default_rng(10).random((count, 2000)) < share)
    bounds = difference_intervals(losses, alone(count), level=0.9).lo
    assert (bounds > -share).mean() <= 0.07
