"""Rankings of anybody scored, stored runs scored again on other judgements, and the program beside trec_eval."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import (
    FAST,
    OUR_PARTS,
    Answer,
    bench,
    calls,
    copy_of_tiny,
    grid,
    jobs,
    on,
    replace_in,
    unmeasured,
)
from tests.conftest import TINY

COUNTING = (*OUR_PARTS, "embedder=counting")
TIMED = ("timing=default", "timing.queries=2", "timing.calls=2", "timing.seconds=1")
QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}, "q3": {"d": 0}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.0}, "q3": {"d": 1.0}, "q9": {"a": 1.0}}
COSTS = ["latency_p50_ms", "index_seconds", "index_bytes", "peak_memory_bytes", "context_tokens"]


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a copy of the tiny collection and two stored runs on it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BENCH_CACHE", str(folder / "cache"))
        copy_of_tiny(folder)
        assert bench("-m", "retriever=bm25,faiss", "k=[1,5,10]", on=on(Path("tiny"))).code == 0
    return folder


@pytest.fixture
def tiny(made, in_folder):
    """The collection of the stored runs in this test's folder, which it may change."""
    shutil.copytree(made / "outputs", "outputs")
    return Path(shutil.copytree(made / "tiny", "tiny"))


def change_a_grade(tiny: Path) -> None:
    replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")


def evaluate(*words) -> Answer:
    return bench("evaluate", *map(str, words), on=())


def scores(*words) -> dict[str, list]:
    answer = evaluate(*words, "--format", "json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def write_qrels(path: Path = Path("qrels.txt")) -> Path:
    lines = [f"{query} 0 {doc} {grade}" for query, docs in QRELS.items() for doc, grade in docs.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_run(path: Path = Path("run.trec")) -> Path:
    lines = [f"{q} Q0 {doc} 1 {score} ours" for q, docs in RUN.items() for doc, score in docs.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def files(folder: str = ".") -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


class TestFiles:
    def test_a_run_is_scored_told_and_nothing_is_written(self):
        qrels, run = write_qrels(), write_run()
        before = files()

        answer = evaluate("--qrels", qrels, "--run", run, "--measures", "P,RR", "--k", "1,2")

        assert answer.code == 0
        assert answer.out.split("run.trec")[1].split()[:4] == ["0.0000", "0.2500", "0.0000", "0.2500"]
        assert "judged queries" in answer.out
        assert files() == before

    def test_every_form_of_the_same_run_and_judgements_has_the_same_scores(self):
        write_qrels()
        write_run()
        Path("qrels.json").write_text(json.dumps(QRELS))
        Path("run.json").write_text(json.dumps(RUN))
        Path("run.gz").write_bytes(gzip.compress(Path("run.trec").read_bytes()))
        rows = [(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
        pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).to_parquet("run.parquet")
        rows = [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
        tsv = "".join(f"{q}\t{d}\t{g}\n" for q, d, g in rows)
        Path("qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + tsv)

        runs = ["run.trec", "run.json", "run.gz", "run.parquet"]
        found = [
            scores("--qrels", qrels, "--run", *runs)["measures"]
            for qrels in ("qrels.txt", "qrels.json", "qrels.tsv")
        ]

        assert found[0] == found[1] == found[2]
        by_run = [[{**row, "run": ""} for row in found[0] if row["run"] == run] for run in runs]
        assert len(by_run[0]) == 16
        assert by_run.count(by_run[0]) == 4

    def test_what_a_mean_leaves_out_is_counted(self):
        found = scores("--qrels", write_qrels(), "--run", write_run(), "--measures", "RR@5,P(rel=2)@5")
        counts = ("queries", "unanswered", "no_relevant", "judged_queries", "unjudged_queries")
        first, second = ([row[name] for name in counts] for row in found["measures"])
        assert first == [2, 1, 1, 3, 1]
        assert second == [1, 0, 2, 3, 1]

    def test_a_job_and_a_whole_folder_of_jobs_have_the_values_of_their_grid(self, tiny):
        qrels = TINY / "qrels" / "test.tsv"

        found = scores("--qrels", qrels, "--run", "outputs/default")
        alone = scores("--qrels", qrels, "--run", jobs()["bm25"])

        values = {(row["run"], row["measure"]): row for row in found["measures"]}
        assert alone["measures"][0]["run"] == "bm25"
        for cell in grid().to_dict("records"):
            for name, symbol in {"precision": "P", "recall": "R", "mrr": "RR", "ndcg": "nDCG"}.items():
                row = values[cell["system"], f"{symbol}@{cell['k']}"]
                assert row["mean"] == pytest.approx(cell[name], abs=1e-12)
                assert (row["queries"], row["no_relevant"]) == (cell["queries"], cell["no_relevant"])

    def test_a_collection_brings_its_judgements_and_its_parts(self, tiny):
        found = scores("--collection", tiny, "--run", "outputs/default", "--measures", "Complete@5")

        cells = grid()[grid()["k"] == 5].set_index("system")
        for row in found["measures"]:
            assert row["mean"] == pytest.approx(cells["complete"][row["run"]], abs=1e-12)
            assert row["queries"] == cells["complete_queries"][row["run"]]

    def test_judgements_of_what_a_collection_does_not_have_are_counted_and_listed(self, tiny):
        lines = ["q1\tdevolver-zapatillas\t1", "q1\tnowhere\t1", "q77\tdevolver-base\t1"]
        Path("qrels.tsv").write_text("\n".join(lines))

        words = ("--collection", tiny, "--qrels", "qrels.tsv", "--run", jobs()["bm25"], "--measures", "R@10")
        found = scores(*words)

        (row,) = found["measures"]
        assert (row["judged_queries"], row["mean"]) == (1, 0.5)
        said = " / ".join(found["notes"])
        assert "left out: judgements of 1 queries that it does not ask (q77)" in said
        assert "judged are 1 documents that it does not have; they count in R (nowhere)" in said

    def test_a_document_that_stands_twice_is_refused_or_kept_once_and_counted(self):
        write_qrels()
        Path("run.trec").write_text("q1 Q0 a 1 3 t\nq1 Q0 x 2 2 t\nq1 Q0 a 3 1 t\n")
        words = ("--qrels", "qrels.txt", "--run", "run.trec", "--measures", "P@2")

        refused = evaluate(*words)
        kept = scores(*words, "--duplicates", "keep-first")

        assert refused.code == 2
        assert "run.trec:3" in refused.err
        assert kept["measures"][0]["mean"] == 0.25
        assert any(note.startswith("run.trec: ") for note in kept["notes"])

    def test_everything_that_is_wrong_with_the_files_is_told_at_once(self):
        Path("qrels.txt").write_text("q1 0 a 1\nq1 0 a 2\n")
        Path("run.trec").write_text("q1 Q0 a 1 NaN t\n")

        answer = evaluate("--qrels", "qrels.txt", "--run", "run.trec", "runn.trec")

        assert answer.code == 2
        assert answer.out == ""
        assert "qrels.txt:2" in answer.err
        assert "run.trec:1" in answer.err
        assert "there is no file runn.trec; did you mean 'run.trec'?" in answer.err

    def test_two_files_of_one_name_are_told_apart_by_their_paths(self):
        write_qrels()
        for folder in ("one", "two"):
            Path(folder).mkdir()
            write_run(Path(folder) / "run.trec")
        found = scores("--qrels", "qrels.txt", "--run", "one/run.trec", "two/run.trec", "--measures", "P@1")
        assert [row["run"] for row in found["measures"]] == ["one/run.trec", "two/run.trec"]

    def test_a_result_is_written_where_it_is_wanted_in_the_form_of_its_name(self):
        words = ("--qrels", write_qrels(), "--run", write_run(), "--per-query")
        for name in ("scores.json", "scores.csv", "scores.parquet", "scores.txt"):
            answer = evaluate(*words, "-o", name)
            assert (answer.code, answer.out) == (0, "")
        frame = pd.read_csv("scores.csv")
        pd.testing.assert_frame_equal(frame, pd.read_parquet("scores.parquet"), check_dtype=False)
        assert json.loads(Path("scores.json").read_text())["per_query"][0]["value"] == frame["value"][0]
        assert "judged queries" in Path("scores.txt").read_text()

    def test_the_rows_of_ties_bounds_and_intervals_stand_under_the_mean(self):
        answer = evaluate("--qrels", write_qrels(), "--run", write_run(), "--ties", "--bounds", "--intervals")
        for label in ("95 % from", "unjudged, most", "ties, expected"):
            assert label in answer.out

    def test_help_has_an_example_and_a_misspelt_option_its_nearest_name(self):
        answer = evaluate("--help")
        assert answer.code == 0
        assert "python -m bench evaluate --qrels qrels.txt --run" in answer.out
        answer = evaluate("--qrles", "x", "--run", "y")
        assert answer.code == 2
        assert "did you mean '--qrels'?" in answer.err


class TestStoredRuns:
    def test_a_changed_grade_gives_the_figures_of_a_new_run_without_a_search(self, in_folder):
        tiny = copy_of_tiny(in_folder)
        words = (*COUNTING, "retriever=faiss", "k=[1,5]", "budget=40")
        assert bench(*words, *TIMED, on=on(tiny)).code == 0
        before, asked = grid(), calls()
        change_a_grade(tiny)

        answer = evaluate("outputs/default")

        assert answer.code == 0, answer.err
        assert calls() == asked
        after = grid()
        assert not (after["ndcg"] == before["ndcg"]).all()
        pd.testing.assert_frame_equal(after[COSTS], before[COSTS])
        per_query = pd.read_parquet("outputs/default/per_query.parquet")
        bench(*words, "timing=off", "name=anew", on=on(tiny))
        anew = unmeasured(grid("anew")).drop(columns="name")
        pd.testing.assert_frame_equal(unmeasured(after).drop(columns="name"), anew)
        pd.testing.assert_frame_equal(per_query, pd.read_parquet("outputs/anew/per_query.parquet"))
        # The same command has nothing left to do.
        written = {path: path.stat().st_mtime_ns for path in Path("outputs/default").glob("*/manifest.json")}
        bench(*words, *TIMED, on=on(tiny))
        assert {path: path.stat().st_mtime_ns for path in written} == written

    def test_the_copy_of_the_judged_collection_and_the_manifests_are_of_now(self, tiny):
        change_a_grade(tiny)

        evaluate("outputs/default")

        manifest = json.loads((jobs()["bm25"] / "manifest.json").read_text())
        copy = Path("outputs/default/collections") / manifest["state"]
        assert "q8\tdevolver-higiene\t0" in (copy / "qrels" / "test.tsv").read_text()
        assert (copy / "qrels" / "parts.tsv").exists()
        assert manifest["digests"]["qrels"] == grid()["qrels_digest"].iloc[0]

    def test_judgements_of_a_file_are_taken_and_the_parts_of_the_collection_stay(self, tiny):
        complete = grid()["complete"].to_list()
        shutil.copy(tiny / "qrels" / "test.tsv", "mine.tsv")
        replace_in(Path("mine.tsv"), "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t1")
        with Path("mine.tsv").open("a") as more:
            more.write("q8\tnowhere\t1\nq77\tdevolver-base\t1\n")

        answer = evaluate("outputs/default", "--qrels", "mine.tsv")

        assert answer.code == 0
        assert "judgements of 1 queries that it does not ask (q77)" in answer.err
        assert "judged are 1 documents that it does not have" in answer.err
        found = scores("--collection", tiny, "--qrels", "mine.tsv", "--run", "outputs/default",
                       "--k", "1,5,10", "--measures", "Complete,R")  # fmt: skip
        means = {(row["run"], row["measure"]): row["mean"] for row in found["measures"]}
        for cell in grid().to_dict("records"):
            for name, symbol in {"complete": "Complete", "recall": "R"}.items():
                expected = means[cell["system"], f"{symbol}@{cell['k']}"]
                assert cell[name] == pytest.approx(expected, abs=1e-12)
        assert grid()["complete"].to_list() != complete

    @pytest.mark.parametrize(
        ("file", "old", "what"),
        [("corpus.jsonl", "Sevilla y Bilbao.", "corpus"), ("queries.jsonl", "zapatillas con uso", "queries")],
    )
    def test_another_corpus_or_other_queries_are_refused_and_nothing_is_written(self, tiny, file, old, what):
        before = files("outputs")
        replace_in(tiny / file, old, "otra cosa")

        for words in (["outputs/default"], ["outputs/default", "--qrels", tiny / "qrels" / "test.tsv"]):
            answer = evaluate(*words)
            assert answer.code == 2
            assert f"the {what} of tiny changed after its 2 runs were made" in answer.err
        assert files("outputs") == before

    def test_where_the_collection_is_gone_judgements_are_asked_for_and_what_was_kept_serves(self, tiny):
        figures = grid()
        tiny.rename("elsewhere")

        refused = evaluate("outputs/default")
        again = evaluate("outputs/default", "--qrels", Path("elsewhere/qrels/test.tsv"))

        assert refused.code == 2
        assert "cannot be opened again (collection.path: there is no folder" in refused.err
        assert "give judgements by --qrels FILE" in refused.err
        assert again.code == 0
        assert "scored with the queries and documents kept in outputs/default" in again.err
        pd.testing.assert_frame_equal(grid(), figures)
        assert len(list(Path("outputs/default/collections").glob("*/queries.jsonl"))) == 1

    def test_the_scale_that_the_collection_declared_holds_where_it_is_gone(self, in_folder):
        tiny = copy_of_tiny(in_folder)
        bench("retriever=bm25", "k=5", "collection.max_grade=4", on=on(tiny))
        err = grid()["err"].to_list()
        tiny.rename("elsewhere")
        qrels = Path("elsewhere/qrels/test.tsv")

        evaluate("outputs/default", "--qrels", qrels)
        assert grid()["err"].to_list() == err
        evaluate("outputs/default", "--qrels", qrels, "--max-grade", "2")
        assert grid()["err"].to_list() == pytest.approx([4 * value for value in err], rel=0.5)
        assert grid()["err"].to_list() != err
        assert "grades above the top of the scale, 1: 2" in evaluate(
            "outputs/default", "--qrels", qrels, "--max-grade", "1"
        ).err  # fmt: skip

    def test_half_of_a_collection_under_stress_is_opened_as_it_was(self, in_folder):
        tiny = copy_of_tiny(in_folder)
        bench("retriever=bm25", "k=5", "split=dev", "stress=typos", on=on(tiny))
        before = grid()
        replace_in(tiny / "qrels" / "test.tsv", "q1\tdevolver-base\t1", "q1\tdevolver-base\t0")

        answer = evaluate("outputs/default")

        assert answer.code == 0, answer.err
        assert list(grid()["queries_digest"]) == list(before["queries_digest"])
        assert list(grid()["judged_queries"]) == list(before["judged_queries"])
        assert before["collection"].tolist() == ["tiny-dev~typos"]

    def test_jobs_on_an_earlier_state_of_the_corpus_stay_left_out(self, tiny):
        earlier = {path: path.read_bytes() for path in Path("outputs/default").glob("*/manifest.json")}
        replace_in(tiny / "corpus.jsonl", "Sevilla y Bilbao.", "Sevilla y Bilbao!")
        bench("retriever=bm25", "k=5", on=on(tiny))

        answer = evaluate("outputs/default")

        assert answer.code == 0
        assert "left out, of another state of a collection: 2 jobs" in answer.err
        assert {path: path.read_bytes() for path in earlier} == earlier
        assert len(grid()) == 1

    def test_a_cell_that_failed_stays_in_the_tables(self, in_folder):
        tiny = copy_of_tiny(in_folder)
        bench("-m", *OUR_PARTS, "reranker=broken,none", "k=5", on=on(tiny))
        change_a_grade(tiny)

        answer = evaluate("outputs/default")

        assert answer.code == 1
        assert "a bug in somebody's reranker" in answer.err
        assert sorted(grid()["status"]) == ["failed", "ok"]
        assert grid()["qrels_digest"].nunique() == 1

    def test_several_collections_are_each_scored_on_their_own_judgements_and_not_on_one_file(self, tiny):
        bench("retriever=bm25", "k=5", "collection.name=other", on=on(tiny))
        before = grid()
        change_a_grade(tiny)

        refused = evaluate("outputs/default", "--qrels", tiny / "qrels" / "test.tsv")
        again = evaluate("outputs/default")

        assert refused.code == 2
        assert "holds runs of 2 collections (other, tiny), which one file cannot judge" in refused.err
        assert again.code == 0
        assert set(grid()["collection"]) == {"other", "tiny"}
        assert (grid()["qrels_digest"] != before["qrels_digest"]).all()

    def test_a_folder_that_is_not_there_or_is_one_job_is_named(self, tiny):
        assert (
            "there is no folder outputs/defualt; did you mean 'default'?" in evaluate("outputs/defualt").err
        )
        answer = evaluate(jobs()["bm25"])
        assert answer.code == 2
        assert "is one job; name the folder of all of them: outputs/default" in answer.err
        Path("outputs/empty").mkdir()
        assert "outputs/empty holds no finished job" in evaluate("outputs/empty").err

    def test_a_damaged_run_is_named_and_nothing_is_written(self, tiny):
        (jobs()["faiss(hashing)"] / "run.parquet").write_bytes(b"PAR1")
        before = files("outputs")
        change_a_grade(tiny)

        answer = evaluate("outputs/default")

        assert answer.code == 2
        assert "cannot be read" in answer.err
        assert files("outputs") == before


class TestSelftest:
    def test_every_shared_measure_is_that_of_trec_eval_on_made_up_data_and_has_a_line(self):
        answer = bench("selftest", on=())
        assert answer.code == 0, answer.out
        for name in ("P", "R", "nDCG", "AP", "Success", "RR", "Rprec", "Bpref", "P(rel=2)"):
            (line,) = [line for line in answer.out.splitlines() if line.split()[:1] == [name]]
            assert float(line.split()[1]) <= 1e-12
            assert int(line.split()[2]) > 100
        assert "in single precision the order of" in answer.out
        assert "equal to pytrec_eval-terrier" in answer.out

    def test_files_of_the_user_are_compared_and_what_is_not_is_said(self):
        write_qrels()
        with Path("qrels.txt").open("a") as more:
            more.write("q9 0 a -1\n")
        answer = bench("selftest", "--qrels", "qrels.txt", "--run", str(write_run()), on=())
        assert answer.code == 0, answer.err
        assert "not compared: 1 queries with no grade of 0 or more" in answer.out
        assert "leaves out 1 judged queries" in answer.out

    def test_a_difference_beyond_rounding_is_told_with_exit_code_1(self, monkeypatch):
        monkeypatch.setattr("bench.verbs.selftest.TOLERANCE", 0.0)
        answer = bench("selftest", on=())
        assert answer.code == 1
        assert "differs" in answer.out
        assert "NOT equal" in answer.out

    def test_without_pytrec_eval_the_extra_that_brings_it_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pytrec_eval", None)
        answer = bench("selftest", on=())
        assert answer.code == 2
        assert "pip install 'bench[trec]'" in answer.err

    def test_one_file_without_the_other_is_refused(self):
        answer = bench("selftest", "--qrels", str(write_qrels()), on=())
        assert answer.code == 2
        assert "--qrels and --run go together" in answer.err


def test_the_overrides_of_the_tests_are_no_part_of_a_collection():
    # What reopens a collection are the words that choose it; the rest of a command may be gone by then.
    from bench.reopen import choice

    words = [
        "collection=beir",
        "+experiment=x",
        "split=dev",
        "~stress",
        "collection.path=p",
        *FAST,
        "splitter=1",
    ]
    assert choice({"overrides": words}) == (
        "collection=beir", "+experiment=x", "split=dev", "~stress", "collection.path=p",
    )  # fmt: skip
