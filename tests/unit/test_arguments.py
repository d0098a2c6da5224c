"""The words behind a verb: what is not known gets the nearest right name."""

from __future__ import annotations

import argparse

import pytest

from bench.errors import BenchError
from bench.verbs.arguments import Arguments, names, whole_numbers


def arguments():
    made = Arguments("weigh", about="Weigh things.", examples="examples:\n  python -m bench weigh --scale 2")
    made.add_argument("--scale", type=int)
    made.add_argument("--scales", nargs="+")
    return made


def test_options_are_read_and_never_guessed_from_their_beginning():
    assert arguments().read(["--scale", "2"]).scale == 2
    with pytest.raises(BenchError, match=r"'--sca' is no option of it; did you mean '--scale'\?"):
        arguments().read(["--sca", "2"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scale"], "expected one argument"),
        (["--scale", "two"], "invalid int value: 'two'"),
        (["stray"], "'stray' is no option of it"),
    ],
)
def test_a_mistake_names_the_verb_and_its_help(words, said):
    with pytest.raises(BenchError, match=said) as caught:
        arguments().read(words)
    assert str(caught.value).startswith("weigh: ")
    assert str(caught.value).endswith("(python -m bench weigh --help)")


def test_help_says_what_the_verb_does_with_an_example(capsys):
    with pytest.raises(SystemExit) as left:
        arguments().read(["--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert "Weigh things." in out
    assert "  python -m bench weigh --scale 2" in out


def test_a_row_of_names_is_parted_by_commas_outside_brackets():
    assert names("P, nDCG@10,RBP(p=0.95, rel=2)@20,") == ("P", "nDCG@10", "RBP(p=0.95, rel=2)@20")


def test_a_row_of_numbers_rises_and_names_each_once():
    assert whole_numbers("10,1,3,3") == (1, 3, 10)
    assert whole_numbers("[1, 5]") == (1, 5)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "five", "", "1,,3"])
def test_what_is_no_row_of_numbers_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="whole numbers from 1"):
        whole_numbers(text)
