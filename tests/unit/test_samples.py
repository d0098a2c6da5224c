"""What the samples of the clock give the grid: percentiles where there are calls enough, and their intervals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.artifacts import JobFolder
from bench.samples import latency_columns, timed_ks
from bench.timing import TIMINGS


def timed(path, calls_by_k: dict[int, int], *, queries: int = 40) -> JobFolder:
    """A folder with so many calls at each k, the queries in turn; a query's time is mostly its own."""
    random, tables = np.random.default_rng(0), []
    own = random.gamma(2, 2, queries)
    for k, calls in calls_by_k.items():
        rows = [
            {
                "query_id": f"q{i % queries:02}",
                "round": i // queries,
                "total_ms": own[i % queries] + random.random(),
            }
            for i in range(calls)
        ]
        table = pa.Table.from_pylist(rows, TIMINGS)
        tables.append(table.append_column("k", pa.array([k] * calls, pa.int64())))
    path.mkdir(exist_ok=True)
    pq.write_table(pa.concat_tables(tables), path / "timings.parquet")
    return JobFolder(path)


def test_each_percentile_lies_in_its_interval(tmp_path):
    columns = latency_columns(timed(tmp_path, {5: 400, 1: 400}))
    assert list(columns) == [1, 5]
    for row in columns.values():
        for name in ("p50", "p95", "p99"):
            low, middle, high = (row[f"latency_{name}_ms{end}"] for end in ("_lo", "", "_hi"))
            assert low <= middle <= high
            assert low < high


@pytest.mark.parametrize(
    ("calls", "told"),
    [(71, {"p50"}), (72, {"p50", "p95"}), (367, {"p50", "p95"}), (368, {"p50", "p95", "p99"})],
)
def test_a_percentile_without_calls_enough_has_no_interval_either(tmp_path, calls, told):
    (row,) = latency_columns(timed(tmp_path, {1: calls})).values()
    for end in ("", "_lo", "_hi"):
        assert {name for name in ("p50", "p95", "p99") if f"latency_{name}_ms{end}" in row} == told


def test_calls_of_fewer_than_ten_queries_have_no_interval(tmp_path):
    (row,) = latency_columns(timed(tmp_path, {1: 400}, queries=9)).values()
    assert "latency_p99_ms" in row
    assert not [name for name in row if name.endswith(("_lo", "_hi"))]


def test_more_calls_of_the_same_queries_narrow_the_interval_less_than_more_queries_do(tmp_path):
    def width(calls: int, queries: int) -> float:
        (row,) = latency_columns(timed(tmp_path / f"{calls}-{queries}", {1: calls}, queries=queries)).values()
        return row["latency_p50_ms_hi"] - row["latency_p50_ms_lo"]

    few, again, many = width(40, 40), width(640, 40), width(640, 640)
    assert again > 0.5 * few
    assert many < 0.5 * few


def test_a_job_knows_at_which_k_it_was_timed(tmp_path):
    assert timed_ks(JobFolder(tmp_path)) == ()
    assert timed_ks(timed(tmp_path, {10: 3, 1: 3})) == (1, 10)
