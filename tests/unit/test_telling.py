"""How far a long work is, where standard error is no terminal: a line at every tenth of a stage."""

from __future__ import annotations

from bench.progress import telling


def test_without_a_terminal_there_is_a_line_at_every_tenth_of_a_stage(capsys):
    with telling() as tell:
        for done in range(1, 101):
            tell("reading texts", done, 100, "")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["reading texts 1/100", *(f"reading texts {done}/100" for done in range(10, 101, 10))]


def test_what_was_tested_is_told_whenever_it_is(capsys):
    with telling() as tell:
        for done in range(1, 10):
            tell("training", done, 100, "loss 0.50, nDCG@5 0.700" if done == 5 else "loss 0.50")
    assert capsys.readouterr().err.splitlines() == [
        "training 1/100 loss 0.50",
        "training 5/100 loss 0.50, nDCG@5 0.700",
    ]


def test_a_stage_that_begins_again_is_told_again(capsys):
    with telling() as tell:
        for _ in range(2):
            for done in (0, 1):
                tell("training", done, 1, "")
    assert capsys.readouterr().err.splitlines() == ["training 0/1", "training 1/1"] * 2


def test_a_stage_of_nothing_divides_by_nothing(capsys):
    with telling() as tell:
        tell("reading texts", 0, 0, "")
    assert capsys.readouterr().err == "reading texts 0/0\n"
