"""The documents say what the code does: tables, examples, commands, figures and links are held against it."""

from __future__ import annotations

import inspect
import itertools
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import scores as tidy
from bench.budget import chunks_within, evaluate_within, tokens_by_place
from bench.catalogue import SHOWN
from bench.cli import VERBS, main
from bench.config import options_of
from bench.evaluate import evaluate
from bench.grid import GRID, MEASURE_COLUMNS, PER_QUERY, SCHEMA_VERSION, Column, counts_own
from bench.judging import BOUNDED
from bench.metrics import MEASURES, parse
from bench.similarity import overlap, rbo
from bench.statistics.intervals import BOOTSTRAP_FROM, FEW, FEWEST
from bench.statistics.resampling import RESAMPLES
from bench.statistics.verdicts import EPSILON
from bench.ties import ties
from bench.timing import TIMINGS
from bench.training.mining import plan
from bench.unjudged.bounds import bounds
from bench.unjudged.world import World
from bench.verbs.gate_request import request as gate_request
from bench.verbs.train_request import request as train_request
from tests.conftest import TINY, make_qrels, make_run, ranking_of

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "outputs" / "README.md", *DOCS]
MARKDOWN = sorted(
    {*PAGES, *(path for folder in ("data", "conf", "src", "tests") for path in (ROOT / folder).rglob("*.md"))}
)


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next of its level or above."""
    level, text = heading.split(" ", 1)
    found = re.search(rf"^{level} {re.escape(text)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.M | re.S)
    assert found, f"no section '{heading}'"
    return found[1]


def tables(text: str) -> list[list[list[str]]]:
    """Every table: its rows of cells, the header first."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, re.M)
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in block.splitlines()
            if "---" not in line
        ]
        for block in (block.replace(r"\|", "/") for block in blocks)
    ]


def name_in(cell: str) -> str:
    return cell.strip("`")


# The schema.


def documented(heading: str) -> list[tuple[str, str, bool, bool]]:
    """Name, type, measured, still null of each column of a table of schema.md, families written out."""
    rows = [
        (name_in(name), kind, "measured" in note, "still null" in note)
        for name, kind, _, note in tables(section(text_of("schema.md"), heading))[0][1:]
    ]
    family = [row for row in rows if row[0].startswith("<measure>")]
    at = rows.index(family[0])
    null = measures_still_null()
    of_measures = [
        (
            name.replace("<measure>", measure),
            kind,
            measured,
            empty or measure in null or (name.endswith(("_low", "_high")) and measure not in BOUNDED),
        )
        for measure in MEASURE_COLUMNS
        for name, kind, measured, empty in family
        if not name.endswith("_queries") or counts_own(measure)
    ]
    return [*rows[:at], *of_measures, *rows[at + len(family) :]]


def measures_still_null() -> set[str]:
    rows = tables(section(text_of("schema.md"), "### Measures"))[0][1:]
    assert [name_in(name) for name, _, _ in rows] == list(MEASURE_COLUMNS)
    assert {name_in(name) for name, _, bounds in rows if bounds} == set(BOUNDED)
    return {name_in(name) for name, state, _ in rows if state == "still null"}


def as_rows(columns: Sequence[Column]) -> str:
    """The rows of a table of schema.md, to paste."""
    rows = [
        f"| `{c.name}` | {c.type} | {c.about} | {'measured' if c.measured else ''} |".replace("|  |", "| |")
        for c in columns
    ]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("heading", "columns"), [("## grid.parquet", GRID), ("## per_query.parquet", PER_QUERY)]
)
def test_the_schema_page_has_the_columns_of_the_table(heading, columns):
    told = [row[:3] for row in documented(heading)]
    declared = [(column.name, str(column.type), column.measured) for column in columns]
    wrong = [column for column, row in zip(columns, declared, strict=True) if row not in told]
    message = f"{heading} of docs/schema.md is out of step with bench.grid; rows to write or mend:\n{as_rows(wrong)}"
    assert told == declared, message


def test_the_schema_page_has_the_columns_of_timings():
    rows = tables(section(text_of("schema.md"), "## timings.parquet"))[0][1:]
    # The k is added where the samples are stored, by cell.
    declared = [*TIMINGS, pa.field("k", pa.int64())]
    assert [(name_in(name), kind) for name, kind, _ in rows] == [(f.name, str(f.type)) for f in declared]


def test_the_schema_page_names_the_version_of_the_columns():
    assert f"`schema_version` is {SCHEMA_VERSION}." in text_of("schema.md")


SWEEP = (
    "-m", "collection=boreal", "embedder=hashing", "retriever=hybrid", "reranker=overlap",
    "store=faiss_flat,faiss_ivf_pq", "k=[1,5]", "budget=[300]", "name=all",
)  # fmt: skip


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Iterator[tuple[Path, Path]]:
    """A sweep that fills, somewhere, every column that is ever filled; and the same from nothing, not timed."""
    folders = []
    with pytest.MonkeyPatch.context() as patch:
        for turn, timing in (("first", "timing.seconds=60"), ("second", "timing=off")):
            folder = tmp_path_factory.mktemp(turn)
            patch.chdir(folder)
            patch.setenv("BENCH_CACHE", str(folder / "cache"))
            assert main([*SWEEP, timing]) == 0
            folders.append(folder / "outputs" / "all")
    yield folders[0], folders[1]


def test_still_null_is_what_a_sweep_leaves_null(swept):
    frame = pd.read_parquet(swept[0] / "grid.parquet")
    told = {name for name, _, _, empty in documented("## grid.parquet") if empty}
    assert {name for name in frame if frame[name].isna().all()} == told


def test_what_is_not_marked_as_measured_is_the_same_in_a_second_run(swept):
    first, second = (pd.read_parquet(folder / "grid.parquet") for folder in swept)
    fixed = [name for name, _, measured, _ in documented("## grid.parquet") if not measured]
    pd.testing.assert_frame_equal(first[fixed], second[fixed])
    assert (swept[0] / "per_query.parquet").read_bytes() == (swept[1] / "per_query.parquet").read_bytes()


def test_the_schema_page_names_every_file(swept):
    found = {path.name for path in swept[0].iterdir() if path.is_file()}
    in_job = {path.name for path in swept[0].glob("*-*/*") if path.is_file()}
    of_sweep, of_job = tables(text_of("schema.md"))[:2]
    assert found == {name_in(name) for name, _ in of_sweep[1:] if not name.endswith("/`")}
    assert in_job == {name_in(name) for name, _ in of_job[1:]}


def test_the_schema_page_has_the_columns_of_a_run(swept):
    rows = tables(section(text_of("schema.md"), "## run.parquet"))[0][1:]
    told = {name_in(name): kind for name, kind, _ in rows}
    stages = ("bm25", "dense", "first", "rerank")
    expected = [name for name in told if not name.startswith("<")]
    expected += [name.replace("<stage>", stage) for stage in stages for name in told if name.startswith("<")]
    (path,) = (folder / "run.parquet" for folder in swept[0].glob("hybrid+overlap(hashing)-*"))
    schema = pq.read_schema(path)
    assert schema.names == expected
    kinds = [told.get(name) or told[f"<stage>_{name.split('_')[-1]}"] for name in expected]
    assert [str(kind) for kind in schema.types] == kinds


@pytest.mark.parametrize("name", ["manifest.json", "failure.json", "command.json"])
def test_the_schema_page_has_the_keys_of_each_json_file(swept, name):
    told = [name_in(key) for key, _, _ in tables(section(text_of("schema.md"), f"## {name}"))[0][1:]]
    files = [*swept[0].glob(name), *swept[0].glob(f"*-*/{name}")]
    assert files
    for file in files:
        assert list(json.loads(file.read_text())) == told


# The measures.

SYMBOLS = {measure.symbol: name for name, measure in MEASURES.items()}


def worked_out() -> list[dict[str, str]]:
    """The rows of every table of measures.md that computes something."""
    found = []
    for header, *rows in tables(text_of("measures.md")):
        if header[0] == "places" and "k" in header and "measure" not in header:
            found += [dict(zip(header, row, strict=True)) for row in rows]
    assert len(found) >= 10
    return found


def gained(row: dict[str, str]) -> tuple[list[str], dict[str, float], dict[str, list[str]]]:
    """The ranking, the judgements and the parts that a row describes."""
    places, missing = name_in(row["places"]).split(), name_in(row["not found"]).split()
    ranking, judged, parts = [], {}, {}
    for i, place in enumerate([*places, *missing]):
        if place == "_":
            continue
        doc = f"d{i}"
        if i < len(places):
            ranking.append(doc)
        if place != "?":
            grade, part = re.fullmatch(r"(-?[\d.]+)([a-z]?)", place).groups()
            judged[doc] = float(grade)
            if part:
                parts.setdefault(part, []).append(doc)
    return ranking, judged, parts


@pytest.mark.parametrize(
    "row", worked_out(), ids=lambda row: f"{row['places']} {row['not found']} at {row['k']}"
)
def test_the_figures_of_the_measures_page_are_those_of_the_code(row):
    ranking, judged, parts = gained(row)
    k = int(row["k"])
    qrels = make_qrels({"q": judged}, **({"q": parts} if parts else {}))
    found = evaluate(make_run({"q": ranking}), qrels, ks=[k], measures=list(MEASURES.values()))
    values = {symbol: found.values[name, k][0] for symbol, name in SYMBOLS.items() if symbol in row}
    assert len(values) == len(row) - 3
    computed = {symbol: "left out" if np.isnan(value) else f"{value:.3f}" for symbol, value in values.items()}
    assert {symbol: row[symbol] for symbol in values} == computed


def test_the_figures_of_ties_are_those_of_the_code():
    (rows,) = (rows for header, *rows in tables(text_of("measures.md")) if "expected" in header)
    for scores, relevant, cut, *told in rows:
        pairs = (pair.split("=") for pair in name_in(scores).split())
        run = make_run({"q": {doc: float(score) for doc, score in pairs}})
        qrels = make_qrels({"q": dict.fromkeys(name_in(relevant).split(), 1)})
        k, mrr, found = int(cut), MEASURES["mrr"], ties(run, qrels)
        values = [bound(mrr, k)[0] for bound in (found.lowest, found.expected, found.highest)]
        value = evaluate(run, qrels, ks=[k], measures=[mrr]).values["mrr", k][0]
        assert [f"{figure:.3f}" for figure in (value, *values)] == told


def test_the_figures_of_bounds_are_those_of_the_code():
    (rows,) = (rows for header, *rows in tables(text_of("measures.md")) if "m" in header)
    for places, missing, others, k, name, *told in rows:
        ranking, judged, _ = gained({"places": places, "not found": missing})
        runs = [make_run({"q": ranking}), make_run({"q": [f"x{i}" for i in range(int(others))]})]
        qrels, (measure, _) = make_qrels({"q": judged}), parse(name)
        found = bounds(measure, World.of_pool(runs, qrels).standing(runs[0]), int(k))
        value = evaluate(runs[0], qrels, ks=[int(k)], measures=[measure]).values[measure.key, int(k)][0]
        assert [f"{figure:.3f}" for figure in (found.low[0], value, found.high[0])] == told


def test_every_measure_has_a_row_with_its_name_and_what_may_be_compared_across_k():
    told = [(name_in(c), name_in(s), across) for c, s, _, across in tables(text_of("measures.md"))[0][1:]]
    expected = {
        (name, f"{m}@k" if m.has_k else str(m), "comparable" if m.grows_with_k else "")
        for name, m in MEASURES.items()
    }
    assert set(told) == expected
    assert len(told) == len(expected)


def test_a_measure_that_has_a_row_is_computed_and_the_others_are_still_null():
    assert set(MEASURE_COLUMNS) - measures_still_null() == set(MEASURES)


def test_the_orders_of_the_measures_page_are_those_of_a_run():
    (rows,) = (rows for header, *rows in tables(text_of("measures.md")) if header == ["scores", "order"])
    for scores, order in rows:
        pairs = (pair.split("=") for pair in name_in(scores).split())
        run = make_run({"q": {doc: float(score) for doc, score in pairs}})
        assert ranking_of(run, "q") == name_in(order).split()


def test_the_figures_beside_ragas_are_average_precision_over_what_was_retrieved():
    (rows,) = (rows for header, *rows in tables(text_of("measures.md")) if header[-1] == "context precision")
    for places, precision, context in rows:
        relevant = np.array(name_in(places).split(), float)
        at_each = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
        assert f"{relevant.mean():.3f}" == precision
        assert f"{(at_each * relevant).sum() / relevant.sum():.3f}" == context


def test_the_figures_within_a_budget_are_those_of_the_code():
    (header, *rows) = next(table for table in tables(text_of("measures.md")) if "tokens" in table[0])
    assert len(rows) == 3
    for row in rows:
        said = dict(zip(header, row, strict=True))
        ranking, judged, _ = gained({"places": said["places"], "not found": ""})
        run, budget = make_run({"q": ranking}), int(said["budget"])
        tokens = dict(zip(ranking, map(int, name_in(said["tokens"]).split()), strict=True))
        lengths = np.array([tokens[doc] for doc in run.docs])
        chunks = chunks_within(tokens_by_place(run, lengths), run.returned, budget=budget)
        assert chunks.tolist() == [int(said["chunks"])]
        measures = [MEASURES[SYMBOLS[symbol]] for symbol in header[4:]]
        found = evaluate_within(
            run, make_qrels({"q": judged}), lengths=lengths, budgets=[budget], measures=measures
        )
        assert [f"{found.mean(measure.name, budget):.3f}" for measure in measures] == row[4:]


def test_the_figures_between_systems_are_those_of_the_code():
    (rows,) = (rows for header, *rows in tables(text_of("measures.md")) if header[:2] == ["one", "other"])
    for *rankings, k, shared, biased in rows:
        one, other = (name_in(ranking).split() for ranking in rankings)
        pair = [make_run({"q": ranking}, docs=[*one, *other]) for ranking in (one, other)]
        assert f"{overlap(*pair, k=int(k))[0]:.3f}" == shared
        assert f"{rbo(*pair)[0]:.3f}" == biased


def test_the_numbers_of_the_intervals_and_of_the_advice_are_those_of_the_code():
    fewest_alike = math.ceil(math.log(0.05) / math.log(1 - EPSILON))
    said = {
        "## Intervals": (
            f"{RESAMPLES} resamples", f"below {BOOTSTRAP_FROM} needs", f"fewer than {FEW} needs",
            f"fewer than {FEWEST} needs",
        ),
        "## Advice": (f"under {EPSILON:g} (`epsilon`)", f"{fewest_alike} needs"),
    }  # fmt: skip
    text = text_of("measures.md")
    assert not [
        number for heading, own in said.items() for number in own if number not in section(text, heading)
    ]


# The examples.


def examples() -> dict[str, str]:
    """The files that the pages spell out, by path."""
    pages = text_of("adding-a-part.md") + text_of("evaluate.md")
    found = re.findall(r"^`([\w./]+)`[^\n]*:\n\n```\w+\n(.*?)^```", pages, re.M | re.S)
    assert len(found) >= 10
    return dict(found)


def write_examples(folder: Path) -> None:
    for name, content in examples().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


@pytest.fixture
def in_examples(in_folder, monkeypatch):
    """A working folder with the files of the examples, from which Python imports, and an empty cache."""
    write_examples(in_folder)
    monkeypatch.syspath_prepend(in_folder)
    yield in_folder
    for name in examples():
        sys.modules.pop(Path(name).stem, None)


def run_on_tiny(*overrides: str, name: str = "tried") -> pd.DataFrame:
    arguments = [*overrides, "collection=beir", f"collection.path={TINY}", "timing=off", f"name={name}"]
    assert main(arguments) == 0
    return pd.read_parquet(f"outputs/{name}/grid.parquet")


def test_the_parts_of_the_examples_run_beside_ours(in_examples):
    grid = run_on_tiny(
        "--config-dir", "parts", "-m", "retriever=dense,shared_words", "reranker=none,early_words",
        "embedder=letter_pairs", "store=half", "k=[1,5]",
    )  # fmt: skip
    assert (grid["status"] == "ok").all()
    assert set(grid["system"]) == {
        "dense(letter_pairs,half)", "dense+early_words(letter_pairs,half)",
        "shared_words", "shared_words+early_words",
    }  # fmt: skip
    assert grid["ndcg"].gt(0).all()


def test_the_store_of_the_examples_finds_what_exact_search_finds(in_examples):
    grid = run_on_tiny(
        "--config-dir", "parts", "-m", "retriever=dense", "store=half,exact", "embedder=letter_pairs"
    )
    half, exact = (grid[grid["store"] == store].iloc[0] for store in ("half", "exact"))
    for measure in MEASURES:
        assert half[measure] == pytest.approx(exact[measure], abs=0.05)
    assert half["index_bytes"] * 2 == exact["index_bytes"]


def test_the_collection_of_the_examples_loads_and_has_its_parts(in_examples):
    assert main(["--config-dir", "parts", "collection=mine", "retriever=bm25", "k=2", "timing=off"]) == 0
    (row,) = pd.read_parquet("outputs/default/grid.parquet").to_dict("records")
    assert (row["queries"], row["no_relevant"], row["complete_queries"]) == (2, 1, 2)
    assert row["analyzer"] == "english"


@pytest.mark.slow
def test_the_examples_hold_what_the_contract_tests_ask_of_every_part(tmp_path):
    names = {"stores": "half", "embedders": "letter_pairs", "rerankers": "early_words"}
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    write_examples(tmp_path)
    shutil.copytree(tmp_path / "parts", tmp_path / "conf", dirs_exist_ok=True)
    shutil.copytree(ROOT / "tests" / "contract", tmp_path / "tests" / "contract")
    for module in ("__init__.py", "conftest.py"):
        shutil.copy(ROOT / "tests" / module, tmp_path / "tests" / module)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    chosen = ["-k", " or ".join(names.values())]
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for family, name in names.items():
        passed = rf"test_{family}\.py::\S+\[\S*{name}\S* PASSED"
        assert re.search(passed, done.stdout), f"no contract test took {name}"


def test_the_measure_shown_is_the_one_in_the_code():
    (shown,) = re.findall(r"^```python\n(@measure.*?)^```", text_of("adding-a-part.md"), re.M | re.S)
    name = re.search(r"def (\w+)", shown)[1]
    assert shown == inspect.getsource(MEASURES[name].compute)


# The commands.


LONG = ("data audit", "+experiment=bm25_parameters", "+experiment=stress")
"""Commands that take more than a few seconds: ten systems are run, or many jobs planned."""


def commands() -> list[object]:
    """Every `python -m bench ...` of README and docs, with the page it stands on."""
    found = []
    for page in (ROOT / "README.md", *DOCS):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"python -m bench\b([^\n`]*)", text):
            found.append((page.name, re.split(r"\s+#|\s{3,}", line)[0].strip()))
    return [
        pytest.param(*one, marks=pytest.mark.slow) if one[1].startswith(LONG) else one
        for one in dict.fromkeys(found)
    ]


HUB = r"hub|not installed"
"""What a part says that cannot be had here, when all else of its job is right."""


@pytest.mark.parametrize(("page", "command"), commands(), ids=lambda value: value)
def test_every_command_can_be_given(page, command, in_examples, capsys):
    arguments = [word.replace("=DIR", f"={TINY}") for word in shlex.split(command)]
    if arguments and arguments[0] == "gate":
        # Its answer is a matter of figures, and those of the tiny collection are none to speak of.
        assert gate_request(arguments[1:]).rules
        return
    if arguments and arguments[0] == "train":
        # What is trained takes long; tests/cli/test_train.py does it with a small encoder.
        if "--help" not in arguments:
            assert plan(train_request(arguments[1:]).overrides).collection.queries
        return
    if arguments and arguments[0] in VERBS and arguments[0] != "run":
        arguments = [str(TINY / "qrels" / "test.tsv") if word == "qrels.tsv" else word for word in arguments]
        for name in [word.removeprefix("outputs/") for word in arguments if word.startswith("outputs/")]:
            run_on_tiny("-m", "retriever=bm25", "reranker=none,overlap", "k=[1,5,10]", name=name)
        assert main(arguments) == 0
        return
    if not arguments or arguments[0] in ("--help", "--version", "--cfg"):
        return
    code = main([*arguments, "dry_run=true"])
    told = capsys.readouterr()
    assert code == 0 or re.search(HUB, told.err), told.err
    assert not Path("outputs").exists()


def test_the_table_of_the_evaluate_page_is_what_its_first_command_prints(in_examples, capsys):
    page = text_of("evaluate.md")
    command = re.search(r"python -m bench (evaluate .*)", page)[1]
    (shown,) = re.findall(r"^```\n(\s*run {2,}.*?)^```", page, re.M | re.S)
    assert main(shlex.split(command)) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line.strip() for line in shown.splitlines() if line.strip()] == list(filter(None, printed))


def test_the_columns_of_scores_are_those_of_the_evaluate_page():
    rows = tables(section(text_of("evaluate.md"), "## What is written"))[0][1:]
    told = {table: [name_in(name) for name, _, where in rows if name_in(where) in (table, "both")] for table in
            ("measures", "per_query")}  # fmt: skip
    assert told == {"measures": tidy.MEASURE_ROWS.names, "per_query": tidy.QUERY_ROWS.names}


@pytest.mark.slow
def test_the_joblib_launcher_gives_the_figures_of_one_process(in_folder):
    asked = ("-m", "retriever=bm25", "bm25.k1=0.9,1.2", "k=[1,5]")
    alone = run_on_tiny(*asked)
    shutil.rmtree("outputs")
    beside = run_on_tiny(*asked, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    fixed = [column.name for column in GRID if not column.measured]
    pd.testing.assert_frame_equal(alone[fixed], beside[fixed])


def options_named() -> list[tuple[str, str, str]]:
    """Page, group and option of every `group=option` in a code span or block."""
    found = []
    for page in (ROOT / "README.md", *DOCS):
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
        code += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        groups = "|".join(SHOWN)
        for group, options in re.findall(rf"(?<![\w./])\+?({groups})=([\w,]+)", "\n".join(code)):
            found += [(page.name, group, option) for option in options.split(",")]
    return list(dict.fromkeys(found))


def test_every_option_that_is_named_exists():
    ours = {(path.parent.name, path.stem) for path in map(Path, examples()) if path.parts[0] == "parts"}
    unknown = [
        f"{page}: {group}={option}"
        for page, group, option in options_named()
        if option not in options_of(group) and (group, option) not in ours
    ]
    assert not unknown


# All pages.


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)
            assert anchor in map(slug, headings), target


MACHINE = (
    r"(?<![\w.)\]])/(?:home|Users|root|tmp|work|mnt|opt|srv|var|usr|etc|private)/",
    r"\b[A-Z]:\\",
    r"file://",
    r"pypi\.|pythonhosted\.org|anaconda\.|npmjs\.|crates\.io|artifactory|nexus|devpi|\bwhl/cpu",
    r"(?:--index-url|--extra-index-url|TORCH_INDEX_URL=)\s*https?:",
    r"\b(?:localhost|(?:\d{1,3}\.){3}\d{1,3})\b",
)


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_names_a_path_of_a_machine_or_the_host_of_a_registry(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    wrong = [line for line, pattern in itertools.product(lines, MACHINE) if re.search(pattern, line)]
    assert not wrong


def test_the_architecture_page_names_every_module_and_no_other():
    source = ROOT / "src" / "bench"
    modules = {path.stem for path in source.glob("*.py")} | {
        path.parent.name for path in source.glob("*/__init__.py")
    }
    layers = tables(section(text_of("architecture.md"), "## Layers"))[0][1:]
    assert {name for _, cell, _ in layers for name in re.findall(r"`(\w+)`", cell)} == modules


def test_the_changelog_begins_with_this_version():
    from importlib.metadata import version

    (first, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first == version("bench")
