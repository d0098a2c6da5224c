"""The table of cases: each has tests, and the tests it names exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (Path(__file__).parent / "README.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| case") and not line.startswith("| ---")
]


@functools.cache
def names_in(file: Path) -> set[str]:
    """The names of the tests in a file, with that of their class."""
    tree = ast.parse(file.read_text()).body
    classes = [node for node in tree if isinstance(node, ast.ClassDef)]
    inside = {
        f"{one.name}::{node.name}"
        for one in classes
        for node in one.body
        if isinstance(node, ast.FunctionDef)
    }
    return {node.name for node in tree if isinstance(node, ast.FunctionDef)} | inside


def test_every_case_has_a_row_of_its_own():
    cases = [case for case, _, _ in ROWS]
    assert cases[:35] == [*"ABCDEFGHIJ", *map(str, range(1, 26))]
    assert len(set(cases)) == len(cases) >= 35 + 12


@pytest.mark.parametrize(("case", "happened", "tests"), ROWS, ids=[case for case, _, _ in ROWS])
def test_the_tests_of_a_case_exist(case, happened, tests):
    named = re.findall(r"`([\w/]+\.py)::([\w:]+)`", tests)
    assert len(named) == tests.count("`") / 2 >= 1
    for file, name in named:
        assert name in names_in(TESTS / file), f"{case}: {file} has no {name}"
    assert happened.endswith(".")


def test_every_test_of_the_cases_is_of_a_case():
    named = {name for _, _, tests in ROWS for _, name in re.findall(r"`([\w/]+\.py)::([\w:]+)`", tests)}
    for file in Path(__file__).parent.glob("test_[pw]*.py"):
        own = {name for name in names_in(file) if name.startswith("test_")}
        assert own <= named, f"{file.name}: {sorted(own - named)}"
