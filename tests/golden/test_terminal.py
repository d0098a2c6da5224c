"""What the terminal shows, word for word. After a wanted change, take over what the failing test prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.program import bench

COMMANDS = {
    "sweep.txt": ("-m", "retriever=faiss,hybrid", "reranker=none,overlap", "k=[1,3,5,10]"),
    "one_system.txt": ("retriever=hybrid", "k=[1,5]"),
}


@pytest.mark.parametrize("file", COMMANDS)
def test_the_tables_of_a_command_are_these(file, in_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    answer = bench(*COMMANDS[file])

    assert answer.code == 0, answer.err
    shown = "".join(f"{line.rstrip()}\n" for line in answer.out.splitlines())
    assert shown == Path(__file__).with_name(file).read_text(encoding="utf-8")
