"""`report` on folders that are whole, and on those that are not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.program import TINILY, bench, copy_of_tiny, jobs, on, replace_in
from tests.report_facts import shared_folder

SWEEP = ("-m", "retriever=bm25", "reranker=none,overlap", "k=[1,5]")


@pytest.fixture
def swept(in_folder) -> Path:
    assert bench(*SWEEP).code == 0
    return in_folder / "outputs" / "default"


@pytest.fixture
def copied(tmp_path) -> Path:
    return Path(shutil.copytree(shared_folder(), tmp_path / "facts"))


def test_a_sweep_ends_with_its_page_and_says_where_it_is(in_folder):
    answer = bench(*SWEEP)
    assert answer.code == 0
    assert "outputs/default/report.html" in answer.err
    assert answer.last_line == "outputs/default/grid.parquet"
    assert "<html" in Path("outputs/default/report.html").read_text(encoding="utf-8")


def test_one_system_alone_has_no_page_until_it_is_asked_for(in_folder):
    assert bench("retriever=bm25", "k=5").code == 0
    assert not Path("outputs/default/report.html").exists()
    assert bench("report", "outputs/default", on=()).code == 0
    assert Path("outputs/default/report.html").exists()


def test_a_sweep_whose_page_cannot_be_made_stands_and_says_why(in_folder):
    Path("outputs/default/report.html").mkdir(parents=True)
    answer = bench(*SWEEP)
    assert answer.code == 0
    assert "no report was made: " in answer.err
    assert answer.last_line == "outputs/default/grid.parquet"


def test_a_dry_run_makes_no_page(in_folder):
    assert bench(*SWEEP, "dry_run=true").code == 0
    assert not Path("outputs").exists()


def test_the_page_is_written_where_it_is_wanted(swept):
    answer = bench("report", "outputs/default", "-o", "page.html", "--lang", "es", on=())
    assert (answer.code, answer.last_line) == (0, "page.html")
    assert 'lang="es"' in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("outputs/none",), "there is no folder outputs/none"),
        (("outputs/facts", "--baseline", "bm52"), "has no system 'bm52'; did you mean 'bm25'?"),
        (("outputs/facts", "--rows", "bm25,nope"), "has no system 'nope'"),
        (("outputs/facts", "--measure", "nDCG@7"), "there are no values of nDCG@7; k was 1, 3, 5, 10"),
        (("outputs/facts", "--measure", "RBP(p=0.9)"), "is not kept query by query"),
        (("outputs/facts", "--columns", "P@5"), "name P alone"),
        (("outputs/facts", "--collection", "tinny"), "nothing of a collection 'tinny'"),
        (("outputs/facts", "--format", "htlm"), "did you mean 'html'"),
        (("outputs/facts", "-o", "page.doc"), "says no form"),
        (("outputs/facts", "-o", "outputs/facts/grid.parquet"), "it is read"),
        (("outputs/facts", "-o", "nowhere/page.html"), "there is no folder nowhere"),
        (("outputs/facts", "--alpha", "2"), "no number between 0 and 1"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_and_writes_nothing(monkeypatch, words, said):
    monkeypatch.chdir(shared_folder().parents[1])
    before = _files()
    answer = bench("report", *words, on=())
    assert answer.code == 2
    assert said in answer.err
    assert _files() == before


def test_a_folder_with_no_finished_job_says_so(in_folder):
    Path("outputs/empty").mkdir(parents=True)
    answer = bench("report", "outputs/empty", on=())
    assert (answer.code, answer.err) == (2, "bench: outputs/empty holds no finished job\n")


def test_several_collections_are_told_on_one_page_and_one_of_them_alone(copied, tmp_path):
    assert (
        bench("report", str(copied), "--collection", "tiny", "-o", str(tmp_path / "one.html"), on=()).code
        == 0
    )
    one, both = (path.read_text(encoding="utf-8") for path in (tmp_path / "one.html", _page_of(copied)))
    assert "hostile" not in one.replace(str(copied), "")
    assert "hostile" in both
    assert "tiny" in both


def test_jobs_of_an_earlier_state_are_left_out_and_counted(in_folder):
    path = copy_of_tiny(in_folder)
    assert bench(*SWEEP, on=on(path)).code == 0
    replace_in(path / "qrels" / "test.tsv", "q5\tgarantia\t2", "q5\tgarantia\t1")
    assert bench("-m", "retriever=bm25,dense", "k=5", on=on(path)).code == 0
    page = _page_of(Path("outputs/default"))
    assert "left out, of another state of the collection: 1 jobs" in page.read_text(encoding="utf-8")


def test_jobs_of_an_older_schema_are_left_out_and_counted(copied):
    manifest = next(copied.glob("*/manifest.json"))
    about = json.loads(manifest.read_text())
    shutil.copytree(manifest.parent, copied / "of-old")
    (copied / "of-old" / "manifest.json").write_text(json.dumps({**about, "schema_version": 1}))
    assert "1 jobs of another version of bench" in _page_of(copied).read_text(encoding="utf-8")


def test_a_job_that_the_tables_name_and_the_folder_lacks_is_named(copied):
    gone = next(
        path.parent for path in sorted(copied.glob("*/manifest.json")) if "bm25+overlap" in path.parent.name
    )
    shutil.rmtree(gone)
    answer = bench("report", str(copied), on=())
    assert answer.code == 2
    assert "the jobs of bm25+overlap are gone; run its command again" in answer.err


@pytest.mark.parametrize("name", ["grid.parquet", "per_query.parquet"])
def test_a_truncated_table_is_named(copied, name):
    data = (copied / name).read_bytes()
    (copied / name).write_bytes(data[: len(data) // 2])
    answer = bench("report", str(copied), on=())
    assert answer.code == 2
    assert f"{copied / name} cannot be read" in answer.err


def test_a_truncated_run_is_named(swept):
    path = jobs()["bm25"] / "run.parquet"
    path.write_bytes(path.read_bytes()[:100])
    answer = bench("report", "outputs/default", on=())
    assert answer.code == 2
    assert f"{path} cannot be read" in answer.err
    assert "run the command again" in answer.err


def test_a_damaged_record_of_the_command_is_no_hindrance(copied):
    (copied / "command.json").write_text("{")
    assert bench("report", str(copied), on=()).code == 0


def test_a_collection_in_which_nothing_counts_is_left_out_and_said(in_folder):
    path = copy_of_tiny(in_folder)
    lines = (path / "qrels" / "test.tsv").read_text().splitlines()
    barren = [lines[0], *(f"{line.rsplit(maxsplit=1)[0]}\t0" for line in lines[1:])]
    (path / "qrels" / "test.tsv").write_text("\n".join(barren) + "\n")
    (path / "qrels" / "parts.tsv").unlink()
    path = path.rename(in_folder / "barren")
    answer = bench(*SWEEP, on=on(path))
    assert "no report was made: barren: no query has a value of nDCG" in answer.err
    assert bench(*SWEEP, on=TINILY).code == 0
    page = _page_of(Path("outputs/default")).read_text(encoding="utf-8")
    assert "left out: barren: no query has a value of nDCG" in page


def test_it_needs_no_hydra_and_no_model(tmp_path):
    code = (
        "import bench.verbs.report, bench.verbs.report_request, bench.report.told, sys; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    heavy = {"torch", "faiss", "transformers", "sentence_transformers", "hydra", "matplotlib"}
    assert not heavy & set(done.stdout.split())


def test_help_has_examples():
    answer = bench("report", "--help", on=())
    assert answer.code == 0
    assert "python -m bench report outputs/default --format md,tex,png" in answer.out


def _page_of(folder: Path) -> Path:
    assert bench("report", str(folder), on=()).code == 0
    return folder / "report.html"


def _files() -> dict[Path, int]:
    """Everything below the working folder, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
