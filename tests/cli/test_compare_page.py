"""docs/compare.md: every list and key is named, and what it shows is what the program prints."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from tests.cli.program import FAST, ROOT, bench

PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"^python -m bench (.*)$", PAGE, re.M)]
SHOWN = [block for block in re.split(r"^```\n", PAGE, flags=re.M)[1::2] if not block.startswith("python")]


@pytest.fixture
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("_folder")
def test_the_page_names_every_list_of_the_json_with_its_keys():
    named = re.findall(r"^\| `(\w+)` \|.*\| `([\w, ]+)` \|$", PAGE, re.M)
    sweep = ("-m", "collection=boreal", "retriever=bm25", "reranker=none,overlap", "k=[1,5]")
    assert bench(*sweep, on=FAST).code == 0
    found: dict[str, list[str]] = {}
    for words in ((), ("--baseline", "bm25")):
        tables = json.loads(bench("compare", "outputs/default", *words, "--format", "json", on=()).out)
        found |= {name: list(rows[0]) for name, rows in tables.items() if rows}
    assert {name: ["collection", *keys.split(", ")] for name, keys in named} == found
    assert [name for name, _ in named] == list(tables)


@pytest.mark.slow
@pytest.mark.usefixtures("_folder")
def test_the_page_shows_what_its_commands_print():
    sweep, whole, baseline = COMMANDS[:2] + [words for words in COMMANDS if "--baseline" in words][:1]
    kept = next(words for words in COMMANDS if words[0] == "gate")
    breached = ["gate", "outputs/boreal", "--system", "bm25+overlap", "--min", "nDCG@5=0.45", "--against",
                "outputs/boreal", "--against-system", "bm25", "--no-worse-than", "nDCG@5=0.02"]  # fmt: skip
    assert bench(*sweep, on=()).code == 0
    printed = [bench(*words, on=()).out for words in (whole, baseline, kept, breached)]
    assert ["".join(f"{line.rstrip()}\n" for line in one.splitlines()) for one in printed] == SHOWN
