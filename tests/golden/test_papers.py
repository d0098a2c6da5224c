"""The tables for papers, word for word. After a wanted change, take over what the failing test prints."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.paper_facts import BARE, BETTER, ODD, RECALL, findings, renamed

from bench.errors import BenchError
from bench.report import papers

GOLDEN = Path(__file__).parent / "report"
MADE = {
    "all.md": lambda: papers.markdown([findings()]),
    "all.tex": lambda: papers.latex([findings()]),
    "chosen.md": lambda: papers.markdown([findings()], rows=[ODD, BARE], columns=["ndcg"], lang="es"),
    "chosen.tex": lambda: papers.latex([findings()], rows=[ODD, BARE], columns=["ndcg"], lang="es"),
    "all.csv": lambda: papers.csv([findings()]),
}


@pytest.mark.parametrize("file", MADE)
def test_a_table_is_this(file):
    assert MADE[file]() == (GOLDEN / file).read_text(encoding="utf-8")


def test_what_is_equal_as_printed_is_bold_together_and_nothing_that_stands_alone_is():
    text = papers.markdown([findings()], columns=["ndcg"])

    assert text.count("**0.500**") == 2
    assert "**" not in papers.markdown([findings()], rows=[BARE], columns=["ndcg"])


def test_the_mark_of_a_test_stands_at_its_measure_and_k_alone():
    text = papers.markdown([findings()], rows=[BETTER, BARE])

    assert text.count("†") == 2  # in the caption and in one cell
    assert "**0.700**†" in text


def test_csv_and_parquet_hold_every_digit():
    table = papers.table([findings()])
    at = {(row["system"], row["k"]): row for row in table.to_pylist()}

    assert at[ODD, 5]["recall"] == RECALL[ODD][5]
    assert repr(RECALL[ODD][5]) in papers.csv([findings()])
    assert at[BETTER, 5]["p"] == 0.01
    assert at[BETTER, 1]["p"] is None
    assert table.schema.field("queries").type == pa.int64()


def test_two_collections_are_two_tables_or_the_rows_of_one():
    both = [findings(), renamed(findings(), "other")]

    assert papers.latex(both).count("\\begin{table}") == 2
    assert set(papers.table(both)["collection"].to_pylist()) == {"a_b & c", "other"}


def test_what_is_not_there_is_named_all_at_once():
    with pytest.raises(
        BenchError,
        match=r"no system 'bm52'; did you mean 'bm25'\?; no value of 'recal'; did you mean 'recall'",
    ):
        papers.markdown([findings()], rows=["bm52"], columns=["recal"])
