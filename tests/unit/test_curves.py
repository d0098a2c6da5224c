"""Rows of a grid as cells, and measures against k."""

from __future__ import annotations

import pytest

from bench.grid import GRID
from bench.statistics.curves import cells, curves, within_budgets
from bench.statistics.figures import Figure


def row(system: str = "bm25", k: int | None = 5, **values: object) -> dict[str, object]:
    blank = dict.fromkeys(column.name for column in GRID)
    return {**blank, "system": system, "k": k, "status": "ok", "parameters": "{}", **values}


def test_a_cell_holds_the_figures_of_its_row():
    (cell,) = cells(
        [row(recall=0.5, recall_lo=0.4, recall_hi=0.6, judged=1.0, queries=7, context_tokens=120.0)]
    )
    assert cell.values == {"recall": Figure(mean=0.5, lo=0.4, hi=0.6), "judged": Figure(mean=1.0)}
    assert (cell.queries, cell.context_tokens, cell.latency) == (7, 120.0, None)


def test_a_figure_is_marked_as_the_tables_mark_it():
    (cell,) = cells([row(ndcg=0.5, ndcg_low=0.4, ndcg_high=0.5, judged=0.9, ndcg_tie_lowest=0.45)])
    assert cell.values["ndcg"].marks == "~?"


def test_a_cell_that_failed_has_its_reason_and_no_figures():
    (cell,) = cells([row(status="failed", reason="no model", recall=0.5, parameters=None)])
    assert (cell.status, cell.reason, cell.values) == ("failed", "no model", {})


def test_nan_is_no_value():
    (cell,) = cells([row(recall=float("nan"), latency_p50_ms=float("nan"))])
    assert cell.values == {}
    assert cell.latency is None


def test_latency_has_its_interval_and_the_stages_that_were_timed():
    (cell,) = cells(
        [row(latency_p50_ms=3.0, latency_p50_ms_lo=2.0, latency_p50_ms_hi=4.0, latency_search_p50_ms=1.0)]
    )
    assert cell.latency == Figure(mean=3.0, lo=2.0, hi=4.0)
    assert cell.stages == {"search": 1.0}


def test_cells_of_k_and_of_token_budgets_are_apart():
    rows = [row(recall=0.5), row(k=None, budget=500, recall=0.7, context_chunks=3.5)]
    assert [cell.k for cell in cells(rows)] == [5]
    (within,) = within_budgets(rows)
    assert (within.budget, within.context_chunks, within.values["recall"].mean) == (500, 3.5, 0.7)


@pytest.mark.parametrize(
    ("measure", "across"), [("recall", True), ("complete", True), ("ndcg", False), ("mrr", False)]
)
def test_a_curve_rises_in_k_and_says_whether_its_points_may_be_compared(measure, across):
    rows = [row(k=k, **{measure: k / 10}) for k in (5, 1, 3)]
    (curve,) = curves(cells(rows), [measure, "precision"])
    assert (curve.system, curve.measure, curve.across_k) == ("bm25", measure, across)
    assert [(k, figure.mean) for k, figure in curve.points] == [(1, 0.1), (3, 0.3), (5, 0.5)]


def test_a_measure_without_k_has_no_curve():
    assert curves(cells([row(k=k, r_precision=0.4) for k in (1, 3)]), ["r_precision"]) == ()


def test_curves_stand_by_measure_and_then_by_system():
    found = curves(cells([row(system, ndcg=0.1, recall=0.2) for system in ("b", "a")]), ["recall", "ndcg"])
    assert [(one.measure, one.system) for one in found] == [
        ("recall", "b"), ("recall", "a"), ("ndcg", "b"), ("ndcg", "a"),
    ]  # fmt: skip
