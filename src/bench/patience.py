"""How a server is asked: at an address without secrets, and again after a wait where that may help."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before a request is made a second time, and the most before any."""
NO_ANSWER = 0
"""Stands for the status where none came."""
PASSING = (NO_ANSWER, 408, 409, 429, 500, 502, 503, 504)
"""Answers of a server that may do better when it is asked again."""
CHECK_SECONDS = 3
"""How long a server may take to show that it is there."""
LONGEST_SILENCE = 86_400
"""The most seconds that a server may be given between two signs of life; a socket takes no number at will."""

_A = TypeVar("_A")


class Reply(NamedTuple, Generic[_A]):
    """What a server said to one request."""

    status: int
    answer: _A
    retry_after: str = ""
    """The header of this name."""


def patiently(ask: Callable[[], Reply[_A]], *, retries: int) -> tuple[Reply[_A], int]:
    """The first reply that is none of PASSING, or the last of `retries` + 1, and how often was asked."""
    reply, asked = ask(), 1
    while reply.status in PASSING and asked <= retries:
        pause(seconds_before(asked, retry_after=reply.retry_after))
        reply, asked = ask(), asked + 1
    return reply, asked


def seconds_before(again: int, *, retry_after: str | None = None) -> float:
    """How long to wait before a request is made for the `again`-th time more (from 1): 0.5 seconds, then twice as long.

    Where the server has said in seconds (`retry_after`, the header), so long. A date, which the header may hold
    too, would need a clock and is passed over.
    """
    told = (retry_after or "").strip()
    wait = float(told) if told.isdecimal() else FIRST_WAIT * 2.0 ** min(again - 1, 10)
    return min(wait, LONGEST_WAIT)


def is_address(url: object) -> bool:
    """Whether it is http(s)://host… without a user or a password, which would be recorded with the address."""
    try:
        address = urlsplit(str(url))
        return (
            address.scheme in ("http", "https")
            and bool(address.hostname)
            and "@" not in address.netloc
            and address.port != 0
        )
    except ValueError:
        return False


@functools.cache
def remind(kept: str, *, version: str, setting: str) -> None:
    """Say it once: figures of an address, and the name of a model, look current long after they are."""
    log.warning(
        "%s are kept as version %s: where it has changed, set another %s or fresh=true",
        kept,
        version,
        setting,
    )


def pause(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)
