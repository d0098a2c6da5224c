"""How long a server is given before it is asked again."""

from __future__ import annotations

import threading

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before a request is made a second time, and the most before any."""


def seconds_before(again: int, *, retry_after: str | None = None) -> float:
    """How long to wait before a request is made for the `again`-th time more (from 1): 0.5 seconds, then twice as long.

    Where the server has said in seconds (`retry_after`, the header), so long. A date, which the header may hold
    too, would need a clock and is passed over.
    """
    told = (retry_after or "").strip()
    wait = float(told) if told.isdecimal() else FIRST_WAIT * 2.0 ** min(again - 1, 10)
    return min(wait, LONGEST_WAIT)


def pause(seconds: float) -> None:
    """Wait."""
    threading.Event().wait(seconds)  # for what is never set, which reads no clock
