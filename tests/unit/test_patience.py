"""How long a server is given before it is asked again."""

from __future__ import annotations

import pytest

from bench import patience
from bench.patience import LONGEST_WAIT, NO_ANSWER, Reply, is_address, patiently, seconds_before


def test_the_waits_double_up_to_a_minute():
    assert [seconds_before(again) for again in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert seconds_before(10_000) == LONGEST_WAIT


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("7", 7), (" 0 ", 0), ("900", LONGEST_WAIT), ("Wed, 21 Oct 2065 07:28:00 GMT", 2), ("", 2)],
)
def test_what_the_server_says_in_seconds_is_done_within_reason(told, seconds):
    assert seconds_before(3, retry_after=told) == seconds


@pytest.fixture
def waits(monkeypatch):
    """How long was waited each time, in no time."""
    waited: list[float] = []
    monkeypatch.setattr(patience, "pause", waited.append)
    return waited


def test_a_server_is_asked_until_its_answer_is_a_lasting_one(waits):
    replies = [Reply(NO_ANSWER, "a"), Reply(429, "b", "7"), Reply(400, "c"), Reply(200, "d")]
    assert patiently(lambda: replies.pop(0), retries=9) == (Reply(400, "c"), 3)
    assert waits == [0.5, 7]


def test_a_server_is_asked_once_and_so_many_times_more(waits):
    asked: list[int] = []
    reply, times = patiently(lambda: Reply(503, asked.append(1)), retries=2)
    assert (reply.status, times, len(asked), waits) == (503, 3, 3, [0.5, 1])
    assert patiently(lambda: Reply(503, None), retries=0)[1] == 1


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("http://host:80/a?b={query}", True),
        ("https://host", True),
        ("http://me:secret@host/", False),
        ("http://me@host/", False),
        ("http://@host/", False),
        ("host/path", False),
        ("ftp://host/", False),
        ("http://", False),
        ("http://host:port/", False),
        (None, False),
    ],
)
def test_an_address_names_a_host_and_nobody(url, taken):
    assert is_address(url) is taken
