"""Which figures of a table are marked: those that ties or missing judgements could print otherwise."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.console import Console

from bench.metrics import parse
from bench.statistics.marks import marks, marks_of
from bench.tables.grid import comparison
from bench.tables.marks import legend

SETTLED = {
    f"{lens}{end}": 0.5
    for lens in ("precision", "recall", "mrr", "ndcg")
    for end in ("", "_low", "_high", "_tie_lowest", "_tie_highest")
} | {"judged": 1.0}


def cell(**other) -> dict[str, float]:
    return {**SETTLED, **other}


@pytest.mark.parametrize("lens", ["precision", "recall", "mrr", "ndcg"])
def test_a_figure_that_nothing_could_change_has_no_mark(lens):
    assert marks(cell(), lens) == ""


def test_a_figure_that_another_order_prints_otherwise_is_marked():
    assert marks(cell(mrr_tie_lowest=0.49), "mrr") == "~"
    assert marks(cell(mrr_tie_highest=0.51), "mrr") == "~"
    assert marks(cell(mrr_tie_highest=0.51), "ndcg") == ""


def test_a_change_that_is_not_printed_is_not_marked():
    assert marks(cell(mrr_tie_highest=0.5004, precision_high=0.5004), "mrr") == ""
    assert marks(cell(mrr_tie_highest=0.5004, precision_high=0.5004), "precision") == ""


def test_what_is_not_judged_within_k_is_marked():
    assert marks(cell(precision_high=0.6, judged=0.9), "precision") == "?"
    assert marks(cell(mrr_high=0.6, judged=0.9), "mrr") == "?"
    assert marks(cell(recall_high=0.6, judged=0.9), "recall") == "?"
    assert marks(cell(ndcg_low=0.4, judged=0.9), "ndcg") == "?"


def test_what_is_not_judged_below_k_is_not_marked():
    assert marks(cell(recall_low=0.1), "recall") == ""
    assert marks(cell(recall_low=0.1, judged=0.9), "recall") == ""
    assert marks(cell(ndcg_low=0.1), "ndcg") == ""


def test_both_marks_stand_in_one_order():
    assert marks(cell(ndcg_high=0.9, ndcg_tie_lowest=0.1, judged=None), "ndcg") == "~?"


def test_a_cell_without_bounds_has_no_mark():
    unknown = dict.fromkeys(SETTLED, float("nan"))
    assert marks({**unknown, "ndcg": 0.5}, "ndcg") == ""
    assert marks({"ndcg": 0.5}, "ndcg") == ""


def test_a_figure_of_an_open_group_of_equal_scores_is_marked():
    row = {"tie_lowest": 0.5, "tie_highest": 0.5, "open_ties": 1, "judged": 1.0}
    assert marks_of(parse("nDCG")[0], 0.5, row, digits=4) == "~"
    assert marks_of(parse("nDCG")[0], 0.5, {**row, "open_ties": 0}, digits=4) == ""


def test_recall_at_its_own_threshold_is_marked_as_recall_is():
    row = {"low": 0.1, "high": 0.5, "judged": 0.9, "open_ties": 0}
    assert marks_of(parse("R(rel=2)")[0], 0.5, row, digits=4) == ""
    assert marks_of(parse("RBP")[0], 0.5, row, digits=4) == "?"
    assert marks_of(parse("RBP")[0], 0.5, {**row, "judged": 1.0}, digits=4) == ""


def test_the_line_below_speaks_only_of_marks_that_occur():
    assert legend("") is None
    assert legend("~").startswith("~ ")
    assert "?" not in legend("~")
    assert legend("?~").index("~") < legend("?~").index("?")


def table(*cells) -> str:
    rows = [
        {"collection": "c", "status": "ok", "queries": 4, "k": 5, "latency_p50_ms": None, **row}
        for row in cells
    ]
    console = Console(width=100, no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(comparison(pd.DataFrame(rows)))
    return captured.get()


def test_figures_stand_in_line_whatever_is_behind_them():
    shown = table(
        cell(system="one", mrr_tie_lowest=0.1), cell(system="two", mrr=0.7, mrr_high=0.9, judged=0.9)
    )
    first, second = (line for line in shown.splitlines() if line.startswith((" one", " two")))
    assert first.rstrip().endswith("0.500 ~")
    assert second.rstrip().endswith("0.700*~?")
    assert first.rindex("0.500") == second.rindex("0.700")
    assert shown.rstrip().splitlines()[-1].startswith("* best; ~ another order")


def test_a_table_without_marks_has_no_line_about_them():
    assert "another order" not in table(cell(system="one"))
