"""Settings are checked alike everywhere: the message names the setting, what it was and what it may be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.errors import BenchError, check_flag, check_number, check_one_of, check_whole


@pytest.mark.parametrize("value", ["3", 3.0, True, None, math.nan, 0, 9])
def test_what_is_no_whole_number_in_bounds_is_refused(value):
    with pytest.raises(BenchError) as refused:
        check_whole("part.size", value, least=1, most=8)
    assert str(refused.value) == f"part.size={value!r}: a whole number from 1 to 8"


@pytest.mark.parametrize("value", ["3", True, None, math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_number_in_bounds_is_refused(value):
    with pytest.raises(BenchError) as refused:
        check_number("part.share", value, most=1)
    assert str(refused.value) == f"part.share={value!r}: a number from 0 to 1"


def test_what_fits_passes():
    check_whole("n", 1, least=1)
    check_number("n", 0)
    check_number("n", np.float64(0.5), most=0.5)
    check_one_of("n", "a", ("a", "b"))
    check_flag("n", False)


def test_above_a_number_is_not_at_it():
    with pytest.raises(BenchError, match=r"^n=0: a number above 0$"):
        check_number("n", 0, above=True)


def test_a_word_and_a_flag_say_what_they_may_be():
    with pytest.raises(BenchError, match=r"^n='c': one of a, b$"):
        check_one_of("n", "c", ("a", "b"))
    with pytest.raises(BenchError, match=r"^n='no': true or false$"):
        check_flag("n", "no")
