"""Resamples and signs by need, against the same thing spelled out query by query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.resampling import Resamples, flips, need_codes, need_sums, usual_number

NEEDS = ["b", "a", "b", "c", "c", "c", "d"]
OF_NEED = {"a": [1], "b": [0, 2], "c": [3, 4, 5], "d": [6]}


def drawn_queries(resamples: Resamples, resample: int) -> list[int]:
    """The queries of one resample, each as often as its need was drawn."""
    return [
        query
        for need, count in zip("abcd", resamples.counts[resample], strict=True)
        for _ in range(count)
        for query in OF_NEED[need]
    ]


@pytest.fixture(scope="module")
def resamples() -> Resamples:
    return Resamples.of(NEEDS, resamples=200, seed=1)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    found = np.random.default_rng(2).random((7, 3))
    found[1, 0] = found[3, 0] = found[6, 2] = np.nan
    return found


def test_a_resample_draws_as_many_needs_as_there_are(resamples):
    assert (resamples.counts.sum(axis=1) == 4).all()
    assert resamples.needs == 4


def test_the_means_are_those_of_the_queries_drawn_spelled_out(resamples, values):
    means = resamples.means(values)
    for resample in range(200):
        drawn = values[drawn_queries(resamples, resample)]
        kept = [column[~np.isnan(column)] for column in drawn.T]
        expected = [column.mean() if len(column) else np.nan for column in kept]
        np.testing.assert_allclose(means[resample], expected, atol=1e-14)
    assert np.isnan(means).any()


def test_values_without_cells_give_means_without_cells(resamples, values):
    np.testing.assert_array_equal(resamples.means(values[:, 1]), resamples.means(values)[:, 1])


def test_what_is_not_drawn_is_out_of_bag_and_scored_there(resamples, values):
    means = resamples.out_of_bag_means(values[:, 1])
    for resample in range(200):
        left = sorted(set(range(7)) - set(drawn_queries(resamples, resample)))
        out = [need for need, is_out in zip("abcd", resamples.counts[resample] == 0, strict=True) if is_out]
        assert sorted(query for need in out for query in OF_NEED[need]) == left
        expected = values[left, 1].mean() if left else np.nan
        assert means[resample] == pytest.approx(expected, nan_ok=True)


def test_percentiles_are_those_of_the_values_drawn(resamples):
    values = np.array([3.0, 1.0, 3.0, 0.5, 9.0, 2.0, 3.0])
    found = resamples.percentiles(values, [0, 50, 95, 99, 100])
    for resample in range(200):
        drawn = values[drawn_queries(resamples, resample)]
        np.testing.assert_allclose(found[resample], np.percentile(drawn, [0, 50, 95, 99, 100]), atol=1e-12)


def test_the_same_needs_and_seed_give_the_same_resamples_and_another_seed_others():
    again, other = (Resamples.of(NEEDS, resamples=200, seed=seed).counts for seed in (1, 2))
    np.testing.assert_array_equal(again, Resamples.of(NEEDS, resamples=200, seed=1).counts)
    assert (again != other).any()


def test_means_scatter_as_the_standard_error_says():
    values = np.random.default_rng(3).random(400)
    means = Resamples.of([str(i) for i in range(400)], resamples=4000).means(values)
    assert means.mean() == pytest.approx(values.mean(), abs=0.002)
    assert means.std() == pytest.approx(values.std() / 20, rel=0.05)


def test_blocks_change_nothing(monkeypatch, values):
    whole = Resamples.of(NEEDS, resamples=50)
    expected = whole.means(values), whole.percentiles(values[:, 1], [50])
    monkeypatch.setattr("bench.statistics.resampling._BLOCK", 12)
    np.testing.assert_allclose(whole.means(values), expected[0], atol=1e-15)
    np.testing.assert_allclose(whole.percentiles(values[:, 1], [50]), expected[1], atol=1e-15)
    assert (Resamples.of(NEEDS, resamples=50).counts.sum(axis=1) == 4).all()


def test_there_must_be_a_query():
    with pytest.raises(ValueError, match="no query to resample"):
        Resamples.of([])


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.floats(-1, 1) | st.none()), min_size=1, max_size=30))
def test_sums_by_need_are_the_sums_of_its_values(pairs):
    needs = [need for need, _ in pairs]
    values = np.array([np.nan if value is None else value for _, value in pairs])[:, np.newaxis]
    sums, sizes = need_sums(values, need_codes(needs))
    for code, need in enumerate(sorted(set(needs))):
        own = [value for name, value in pairs if name == need and value is not None]
        assert sizes[code, 0] == len(own)
        assert sums[code, 0] == pytest.approx(sum(own))


def test_flips_are_signs_even_in_the_long_run_and_seeded():
    signs = flips(50, count=2000, seed=4)
    assert signs.shape == (2000, 50)
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    np.testing.assert_array_equal(signs, flips(50, count=2000, seed=4))


@pytest.mark.parametrize(("needs", "usual"), [(1, 10_000), (2_000, 10_000), (4_000, 5_000), (20_000, 2_000)])
def test_of_many_needs_there_are_fewer_resamples_for_all_who_ask(needs, usual):
    assert usual_number(needs) == usual
