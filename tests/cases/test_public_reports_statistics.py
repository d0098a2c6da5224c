"""Cases 21 and 22 and their kin: sums of floats that should be equal, and systems that are."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.cases.everything import each_measure, evaluated

from bench.statistics.best import best_set
from bench.statistics.significance import benjamini_hochberg, holm, paired_test


def alone(count):
    return [f"n{i:03}" for i in range(count)]


def compared(differences):
    values = np.array(differences)
    return paired_test(values, np.zeros(len(values)), alone(len(values)))


# Case 21: 0.1 + 0.2 - 0.3 was further from nothing than -0.1 - 0.2 + 0.3.


@pytest.mark.parametrize("unit", [1, 0.1, 1 / 3, 100, 1e-6])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_differences_that_add_up_alike_are_alike_in_every_order_and_unit(unit, order):
    differences = np.array([0.1, 0.2, -0.3, 0.4])[order] * unit
    assert compared(differences).p == 10 / 16 == 0.625
    assert compared(-differences).p == 0.625


def test_exact_where_it_is_small_and_never_zero_where_it_is_drawn():
    assert "exact over the 16 patterns" in compared([0.1, 0.2, -0.3, 0.4]).method
    drawn = compared(np.linspace(0.5, 0.9, 25))
    assert drawn.method.endswith("10,000 random flips of signs")
    assert drawn.p == 1 / 10_001


@each_measure
def test_values_that_differ_in_their_last_bit_are_no_difference(measure):
    # The same five documents come first, once stored to rank 5 and once to rank 40.
    random = np.random.default_rng(0)
    docs = [f"d{i:02}" for i in range(40)]
    judged = {f"q{i:02}": {doc: int(random.integers(0, 3)) for doc in docs[:12]} for i in range(30)}
    deep = {query: random.permutation(docs).tolist() for query in judged}
    short = {query: ranking[:5] for query, ranking in deep.items()}
    a, b = (evaluated(judged, run, ks=[5], max_grade=2).values[measure, 5] for run in (short, deep))
    if measure in ("r_precision", "bpref"):  # over the whole stored ranking, so they do differ
        assert not np.allclose(a, b)
        return
    test = paired_test(a, b, alone(30))
    assert (test.p, test.non_zero, test.ties) == (1.0, 0, 30)
    assert test.note.startswith("no difference")


# Case 22: two equal systems had the p-value NaN, and a NaN was counted among the tests.


@each_measure
def test_two_equal_runs_have_p_one_and_are_said_to_be_equal(measure):
    judged = {f"q{i:02}": {"a": 1, "b": 2} for i in range(20)}
    run = {query: ["x", "b", "a"][: 1 + i % 3] for i, query in enumerate(judged)}
    values = evaluated(judged, run, ks=[3]).values[measure, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = paired_test(values, values.copy(), alone(20))
        # Nor is one of them called the best.
        assert best_set(np.stack([values, values], axis=1), alone(20)).kept.tolist() == [True, True]
    assert (test.p, test.difference) == (1.0, 0.0)
    assert test.note == "no difference: both have the same value on every query"


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_baseline_without_a_p_is_no_test_wherever_it_stands(correct, place):
    p = np.insert(np.array([0.01, 0.04]), place, np.nan)
    corrected = correct(p)
    assert np.isnan(corrected[place])
    assert np.delete(corrected, place) == pytest.approx([0.02, 0.04])


@pytest.mark.parametrize("shift", [0.05, -0.05, 0.001])
def test_a_constant_shift_has_no_variance_and_is_said_to_have_none(shift):
    before = np.linspace(0.1, 0.9, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = paired_test(before + shift, before, alone(20))
    assert test.note.startswith(f"zero variance: every query differs by the same {shift:+.3f}")
    assert test.p == 2 / 2**20
