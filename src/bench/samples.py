"""The samples of the latency pass in the folder of a job, and what the grid tells of them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import timing
from bench.artifacts import JobFolder, write_table
from bench.grid import MetricGrid
from bench.statistics.intervals import percentile_intervals
from bench.statistics.resampling import Resamples

RESAMPLES = 2_000
"""Fewer than for the measures: the time of a call is not known to a fraction of a percent anyway."""


def record_latency(folder: JobFolder, timings: pa.Table) -> None:
    """Store the samples of the latency pass (by k) with a finished job, and their percentiles in its grid."""
    with folder.locked():
        manifest = folder.manifest
        if manifest is None:
            return
        folder.put("timings.parquet", write_table(_with_other_ks(timings, folder)))
        latency = latency_columns(folder)
        rows = [
            {**row, **latency.get(row["k"], {})}
            for row in MetricGrid.read(folder.path / "grid.parquet").rows()
        ]
        folder.write({"grid.parquet": write_table(MetricGrid.of(rows).table)}, manifest=manifest)


def _with_other_ks(timings: pa.Table, folder: JobFolder) -> pa.Table:
    """These samples, and the earlier ones at the k that they do not have."""
    earlier = _timings(folder)
    if earlier is None:
        return timings
    return pa.concat_tables(
        [earlier.filter(pc.invert(pc.is_in(earlier["k"], timings["k"].combine_chunks()))), timings]
    )


def latency_columns(folder: JobFolder) -> dict[int, dict[str, float]]:
    """The latency columns by k of a job that has been timed, from its timings.parquet."""
    table = _timings(folder)
    if table is None:
        return {}
    by_k = {k: table.filter(pc.equal(table["k"], k)).drop_columns(["k"]) for k in _ks(table)}
    return {k: {**timing.percentiles(calls), **_intervals(calls)} for k, calls in by_k.items()}


def timed_ks(folder: JobFolder) -> tuple[int, ...]:
    """The k at which a job has been timed, rising."""
    table = _timings(folder)
    return () if table is None else _ks(table)


def _ks(table: pa.Table) -> tuple[int, ...]:
    return tuple(sorted(set(table["k"].to_pylist())))


def _intervals(calls: pa.Table) -> dict[str, float]:
    """The ends of the 95 % intervals of the percentiles of a call; the calls of a query are drawn together."""
    told = [name for name, needed in timing.CALLS_NEEDED.items() if len(calls) >= needed]
    resamples = Resamples.of(calls["query_id"].to_pylist(), resamples=RESAMPLES)
    found = percentile_intervals(
        calls["total_ms"].to_numpy(), resamples, percents=[float(name[1:]) for name in told]
    )
    intervals = ((name, found.at(i)) for i, name in enumerate(told))
    return {
        f"latency_{name}_ms_{end}": getattr(interval, end)
        for name, interval in intervals
        if interval is not None
        for end in ("lo", "hi")
    }


def _timings(folder: JobFolder) -> pa.Table | None:
    """The samples of a job, None where it has none that can be read: then it is timed again."""
    path = folder.path / "timings.parquet"
    try:
        return pq.read_table(path) if path.exists() else None
    except (pa.ArrowException, OSError):
        return None
