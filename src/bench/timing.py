"""The clock. It is read here and nowhere else, it names its stages, and it never times a cache hit as work."""

from __future__ import annotations

import datetime
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from bench.errors import BenchError
from bench.grid import STAGES
from bench.identity import identity

STAGE_OF = {"embed_queries": "encode", "search": "search", "fuse": "fuse", "rerank": "rerank"}
"""Which stage the time inside a method of a part belongs to; time inside a nested one is the nested one's."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How the latency pass samples: up to `queries` queries, in rounds until `calls` calls or `seconds` a system."""

    enabled: bool = True
    queries: int = 50
    calls: int = 400
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool):
            raise BenchError(f"timing.enabled={self.enabled!r}: true or false")
        for name, least in (("queries", 1), ("calls", 1), ("seconds", 0)):
            value = getattr(self, name)
            if type(value) not in ((int,) if least else (int, float)) or not value > 0:
                kind = "a whole number from 1" if least else "a number above 0"
                raise BenchError(f"timing.{name}={value!r}: {kind}")


@dataclass
class Clock:
    """Adds up the time spent in named stages; time in a stage inside another belongs to the inner one alone."""

    spent: dict[str, float] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside, in seconds, under this name."""
        self._switch()
        self._open.append(name)
        try:
            yield
        finally:
            self._switch()
            self._open.pop()

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.spent[self._open[-1]] = self.spent.get(self._open[-1], 0.0) + now - self._since
        self._since = now


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return time.perf_counter() - self._since


class Timed:
    """A part around whose methods the clock runs (see STAGE_OF); in all else it is the part it wraps."""

    def __init__(self, part: Any, clock: Clock, *, stage: str | None = None) -> None:
        self.part, self.clock, self.own = part, clock, stage

    def identity(self) -> str:
        """That of the part: timing changes no result."""
        return identity(self.part)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.part, name)
        if name in ("build", "index"):
            return lambda *given: Timed(value(*given), self.clock, stage=self.own)
        if name not in STAGE_OF or not callable(value):
            return value
        stage = self.own or STAGE_OF[name]

        def timed(*given: Any, **named: Any) -> Any:
            with self.clock.stage(stage):
                return value(*given, **named)

        return timed


@dataclass(frozen=True, eq=False)
class Call:
    """One end-to-end call of a system, to be timed with each of these queries."""

    queries: Sequence[str]
    """Ids of the queries."""
    make: Callable[[int], object]
    """The call for the query at a position."""
    clock: Clock
    """The clock that runs inside the call's parts."""
    calls: int
    """After so many samples it is done,"""
    seconds: float
    """or after so much time of its own; but one round is always finished."""


def latency(calls: Mapping[str, Call], *, seed: int) -> tuple[dict[str, pa.Table], dict[str, str]]:
    """Time single calls, warmed up, in rounds whose order is random over all calls and queries.

    Returns by call: query_id, round, total_ms and the milliseconds of each stage (null where it has none);
    and, for each call that raised an error, which: it leaves the rounds.
    """
    random = np.random.default_rng(seed)
    samples: dict[str, list[dict[str, Any]]] = {key: [] for key in calls}
    used = dict.fromkeys(calls, 0.0)
    failed: dict[str, str] = {}

    def tried(key: str, position: int) -> tuple[dict[str, Any], float] | None:
        try:
            return _sample(calls[key], position)
        except Exception as error:
            failed[key] = f"{type(error).__name__}: {error}"
            return None

    for key, call in calls.items():
        for position in range(min(WARM_UP, len(call.queries))):
            if key not in failed:
                tried(key, position)
    active, turn = [key for key, call in calls.items() if call.queries and key not in failed], 0
    while active:
        pairs = [(key, position) for key in active for position in range(len(calls[key].queries))]
        for choice in random.permutation(len(pairs)):
            key, position = pairs[choice]
            if key not in failed and (taken := tried(key, position)):
                samples[key].append({**taken[0], "round": turn})
                used[key] += taken[1]
        active = [
            key
            for key in active
            if key not in failed and len(samples[key]) < calls[key].calls and used[key] < calls[key].seconds
        ]
        turn += 1
    return {key: pa.Table.from_pylist(rows, TIMINGS) for key, rows in samples.items()}, failed


def _sample(call: Call, position: int) -> tuple[dict[str, Any], float]:
    call.clock.spent.clear()
    started = time.perf_counter()
    call.make(position)
    seconds = time.perf_counter() - started
    spent = call.clock.spent
    stages = {f"{stage}_ms": 1000 * spent[stage] if stage in spent else None for stage in STAGES}
    return {"query_id": call.queries[position], "total_ms": 1000 * seconds, **stages}, seconds


WARM_UP = 3
"""How many calls of each kind are made before any is timed."""
TIMINGS = pa.schema(
    [("query_id", pa.string()), ("round", pa.int64()), ("total_ms", pa.float64())]
    + [(f"{stage}_ms", pa.float64()) for stage in STAGES]
)
CALLS_NEEDED = {"p50": 1, "p95": 72, "p99": 368}
"""How many calls a percentile needs before it says anything (measures, section 6)."""


def percentiles(samples: pa.Table) -> dict[str, float]:
    """The latency columns of a grid row; a percentile is left out where there are too few calls for it."""
    found = {}
    for percentile, needed in CALLS_NEEDED.items():
        if len(samples) < needed:
            continue
        for column, values in zip(samples.column_names, samples.columns, strict=True):
            if not column.endswith("_ms") or values.null_count:
                continue
            stage = column.removesuffix("_ms")
            if stage == "total":
                found[f"latency_{percentile}_ms"] = float(np.percentile(values, float(percentile[1:])))
            elif percentile != "p99":
                found[f"latency_{stage}_{percentile}_ms"] = float(
                    np.percentile(values, float(percentile[1:]))
                )
    return found


def now() -> str:
    """The time of day in UTC, to the second, for the record."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def days_ago(days: float) -> float:
    """The time so many days ago, in seconds since the epoch."""
    return time.time() - 86_400 * days


def peak_memory_bytes() -> int:
    """The largest resident memory this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
