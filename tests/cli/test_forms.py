"""How the result of a command is told: a picture under the tables, or records for scripts."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from rich.console import Console
from tests.cli.program import OUR_PARTS, bench, grid

from bench.tables.picture import pictures

SWEEP = ("-m", "retriever=bm25", "reranker=none,overlap", "k=[1,5]")


def test_json_has_the_rows_of_the_grid_and_nothing_else_is_printed(in_folder):
    answer = bench(*SWEEP, "budget=[50]", "format=json")
    found, rows = json.loads(answer.out), grid()

    assert answer.code == 0
    assert found["folder"] == "outputs/default"
    told = pd.DataFrame(found["cells"]).sort_values(["system", "k", "budget"], ignore_index=True)
    rows = rows.sort_values(["system", "k", "budget"], ignore_index=True)
    for name in ("system", "k", "budget", "ndcg", "recall_lo", "queries", "status"):
        assert told[name].astype(object).where(told[name].notna(), None).tolist() == (
            rows[name].astype(object).where(rows[name].notna(), None).tolist()
        )
    assert type(found["cells"][0]["k"]) is int


def test_json_tells_failed_cells_and_the_exit_code_too(in_folder):
    answer = bench(*OUR_PARTS, "-m", "retriever=bm25", "reranker=none,broken", "k=1", "format=json")
    found = json.loads(answer.out)

    assert answer.code == 1
    assert {cell["status"] for cell in found["cells"]} == {"ok", "failed"}
    assert any(note.startswith("failed: bm25+broken") for note in found["notes"])


def test_json_of_a_dry_run_is_its_plan(in_folder):
    found = json.loads(bench(*SWEEP, "format=json", "dry_run=true").out)

    assert found["cells"] == []
    assert found["plan"][0].startswith("jobs: 2, cells: 4")


def test_another_form_is_refused(in_folder):
    answer = bench(*SWEEP, "format=xml")

    assert answer.code == 2
    assert "format='xml': one of table, json" in answer.err


def cells_of(recall, **more):
    rows = [
        {"collection": "c", "system": s, "reranker": r, "k": k, "status": "ok", "recall": v}
        for (s, r), values in recall.items()
        for k, v in values.items()
    ]
    return pd.DataFrame(rows).assign(**more)


def drawn(cells):
    console = Console(width=100, no_color=True, highlight=False)
    (picture,) = pictures(cells, measures={})
    with console.capture() as captured:
        console.print(picture)
    return captured.get()


CELLS = {("bm25", "none"): {1: 0.0, 5: 0.5}, ("bm25+overlap(depth=9)", "overlap"): {1: 1.0, 5: None}}


def test_a_bar_is_as_long_as_its_figure_and_the_best_of_a_k_has_a_star():
    lines = [line.rstrip() for line in drawn(cells_of(CELLS)).splitlines()]

    assert any(line.startswith("  none") and line.endswith("       0.000   ███    0.500*") for line in lines)
    assert any(
        line.startswith("  overlap") and "██████ 1.000*" in line and line.endswith("-") for line in lines
    )


def test_it_never_is_wider_than_the_terminal():
    many = {
        ("a" * 90, "none"): dict.fromkeys(range(1, 31), 0.25),
        ("b", "none"): dict.fromkeys(range(1, 31), 0.5),
    }

    text = drawn(cells_of(many))

    assert max(map(len, text.splitlines())) <= 100
    assert "k=30" in text


@pytest.mark.parametrize(
    "cells", [{("a", "none"): {1: 0.5, 5: 0.5}}, {("a", "none"): {1: 0.5}, ("b", "none"): {1: 0.5}}]
)
def test_one_system_or_one_k_has_no_picture(cells):
    assert list(pictures(cells_of(cells), measures={})) == []


def test_a_cell_that_failed_says_so():
    cells = cells_of(
        {("a", "none"): {1: 0.5, 5: 0.5}, ("b", "none"): {1: 0.5, 5: 0.25}, ("c", "none"): {1: None, 5: None}}
    )
    cells.loc[cells["system"] == "c", "status"] = "failed"

    assert drawn(cells).count("failed") == 2


def test_the_picture_has_a_row_for_every_setting_of_a_reranker_below_its_retriever(in_folder):
    answer = bench("-m", "retriever=bm25", "reranker=none,overlap", "rerank_depth=2,4", "k=[1,5]")
    lines = answer.out[answer.out.index("by k and reranker") :].splitlines()
    names = [line.split("  ")[0].strip() or line.split("  ")[1].strip() for line in lines[2:] if line.strip()]

    assert names[1:5] == ["bm25", "none", "overlap(rerank_depth=2)", "overlap(rerank_depth=4)"]
