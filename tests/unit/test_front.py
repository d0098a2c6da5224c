"""The Pareto front: which points are on it, and how often under resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.statistics.figures import LATENCY, TOKENS, Cell, Figure
from bench.statistics.front import fronts, on_front
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples


def front_of(*points: tuple[float, float]) -> list[bool]:
    costs, quality = np.array(points, np.float64).T
    return on_front(costs, quality).tolist()


def cell(
    system: str, k: int, values: dict[str, float], *, ms: float | None = None, tokens: float = 1.0
) -> Cell:
    return Cell(
        system=system, k=k, status="ok", reason=None, values={n: Figure(mean=v) for n, v in values.items()},
        context_tokens=tokens, latency=None if ms is None else Figure(mean=ms, lo=ms - 0.5, hi=ms + 0.5),
        latency_p95=None, latency_p99=None, stages={}, queries=3, no_relevant=0, unanswered=0, options={},
        parameters={},
    )  # fmt: skip


def panel(values: dict[tuple[str, int], list[list[float]]]) -> Panel:
    matrices = {key: np.array(matrix, np.float64) for key, matrix in values.items()}
    queries = tuple(f"q{i}" for i in range(len(next(iter(matrices.values())))))
    return Panel(("a", "b"), queries, queries, matrices)


def test_a_dearer_point_is_on_the_front_where_it_is_better():
    assert front_of((1, 0.5), (2, 0.4), (3, 0.6)) == [True, False, True]


def test_of_two_as_good_the_cheaper_is_on_the_front():
    assert front_of((1, 0.5), (2, 0.5)) == [True, False]


def test_of_two_as_dear_the_better_is_on_the_front():
    assert front_of((1, 0.4), (1, 0.5)) == [False, True]


def test_equal_points_are_on_the_front_together():
    assert front_of((1, 0.5), (1, 0.5), (2, 0.5)) == [True, True, False]


def test_what_differs_by_the_last_bit_is_equal():
    assert front_of((1, 0.3), (2, 0.1 + 0.2)) == [True, False]


def test_a_point_without_quality_is_not_on_the_front():
    assert front_of((1, float("nan")), (2, 0.1)) == [False, True]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_front_is_what_no_other_point_dominates(points):
    ordered = sorted(points)
    expected = [
        not any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in ordered)
        for cost, quality in ordered
    ]
    assert front_of(*ordered) == expected


def test_the_share_on_the_front_is_counted_over_resamples():
    values = {("ndcg", 5): [[1, 0], [0, 1], [0, 1]]}
    resamples = Resamples.of(["q0", "q1", "q2"], resamples=500)
    cells = [cell("a", 5, {"ndcg": 1 / 3}, ms=1.0), cell("b", 5, {"ndcg": 2 / 3}, ms=2.0)]
    (front,) = fronts(panel(values), [*cells], measures=["ndcg"], resamples=resamples)[:1]
    means = resamples.means(np.array(values["ndcg", 5], np.float64))
    cheap, dear = front.points
    assert (front.cost, front.k, cheap.on_front, dear.on_front) == (LATENCY, 5, True, True)
    assert cheap.share_on_front == 1.0
    assert dear.share_on_front == pytest.approx((means[:, 1] > means[:, 0]).mean())
    assert 0.5 < dear.share_on_front < 1.0
    assert (dear.cost_lo, dear.cost_hi) == (1.5, 2.5)


def test_a_measure_that_may_be_compared_across_k_has_one_front_and_another_one_a_k():
    values = {(name, k): [[0.5, 0.4]] * 3 for name in ("recall", "ndcg") for k in (1, 5)}
    cells = [cell(s, k, {"recall": 0.5, "ndcg": 0.5}, tokens=10.0 * k) for s in ("a", "b") for k in (1, 5)]
    found = fronts(panel(values), cells, measures=["recall", "ndcg"], resamples=Resamples.of(["a", "b", "c"]))
    assert [(one.measure, one.k, len(one.points)) for one in found] == [
        ("recall", None, 4), ("ndcg", 1, 2), ("ndcg", 5, 2),
    ]  # fmt: skip
    assert {one.cost for one in found} == {TOKENS}, "nothing was timed"


def test_a_cell_that_was_not_timed_is_left_out_of_latency_alone():
    values = {("ndcg", 5): [[0.5, 0.4]] * 3}
    cells = [cell("a", 5, {"ndcg": 0.5}, ms=1.0), cell("b", 5, {"ndcg": 0.4})]
    found = fronts(panel(values), cells, measures=["ndcg"], resamples=Resamples.of(["a", "b", "c"]))
    assert {one.cost: [point.system for point in one.points] for one in found} == {
        LATENCY: ["a"], TOKENS: ["a", "b"],
    }  # fmt: skip
