"""Lines and tables for a terminal and as Markdown."""

from __future__ import annotations

from bench.tables.blocks import Line, Rows, as_markdown, cut, tell

TABLE = Rows(("system", "nDCG@5", "verdict"), [("bm25|[b]x[/b]", "0.522", "worse"), ("(random)", "0.030", "")],
             words=1, faint=frozenset({1}))  # fmt: skip


def test_markdown_aligns_figures_right_and_reads_nothing_as_markup():
    assert as_markdown([Line("boreal: a < b", heading=True), TABLE]) == (
        "**boreal: a \\< b**\n\n"
        "| system | nDCG@5 | verdict |\n"
        "| --- | --: | --- |\n"
        "| bm25\\|\\[b\\]x\\[/b\\] | 0.522 | worse |\n"
        "| (random) | 0.030 |  |\n"
    )


def test_a_terminal_gets_the_same_words_and_a_gap_above_a_heading(capsys):
    tell(
        [Line("first", heading=True), Line("said"), Line("second", heading=True), TABLE],
        form="table",
        output=None,
    )
    shown = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert shown[:4] == ["first", "said", "", "second"]
    assert " bm25|[b]x[/b]   0.522  worse" in shown


def test_a_file_gets_what_a_terminal_would_show(tmp_path, capsys):
    tell([Line("said"), TABLE], form="table", output=tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().startswith("said\n")
    assert capsys.readouterr().out == ""


def test_a_long_text_is_cut_in_one_line():
    assert cut("one\ntwo  three", most=20) == "one two three"
    assert cut("one two three", most=8) == "one two…"
