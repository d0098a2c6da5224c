"""How long a server is given before it is asked again."""

from __future__ import annotations

import pytest

from bench.patience import LONGEST_WAIT, seconds_before


def test_the_waits_double_up_to_a_minute():
    assert [seconds_before(again) for again in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert seconds_before(10_000) == LONGEST_WAIT


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("7", 7), (" 0 ", 0), ("900", LONGEST_WAIT), ("Wed, 21 Oct 2065 07:28:00 GMT", 2), ("", 2)],
)
def test_what_the_server_says_in_seconds_is_done_within_reason(told, seconds):
    assert seconds_before(3, retry_after=told) == seconds
