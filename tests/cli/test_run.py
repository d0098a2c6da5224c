"""What a run does and leaves behind: tables, files, exit codes, and work that is not done twice."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.program import (
    OUR_PARTS,
    TINILY,
    bench,
    calls,
    copy_of_tiny,
    grid,
    jobs,
    on,
    replace_in,
    unmeasured,
)

import bench as package
from bench.api import run
from bench.errors import BenchError
from bench.grid import GRID, PER_QUERY, MetricGrid

COUNTING = (*OUR_PARTS, "embedder=counting")
QUALITY = ["precision", "recall", "mrr", "ndcg", "success", "complete"]


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


def rows(name="default"):
    """The cells with None where the grid has null."""
    return MetricGrid.read(Path("outputs", name, "grid.parquet")).rows()


def written(folder="outputs"):
    return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*.json")}


def test_one_system_at_one_k_prints_its_table_and_writes_its_job():
    answer = bench("retriever=faiss", "k=5")

    assert answer.code == 0, answer.err
    assert answer.err == ""
    assert "nDCG@5" in answer.out
    assert "query type   queries" in answer.out
    assert answer.last_line == "outputs/default/grid.parquet"
    (folder,) = jobs().values()
    assert {path.name for path in folder.iterdir()} == {
        "grid.parquet",
        "job.yaml",
        "manifest.json",
        "per_query.parquet",
        "run.parquet",
        "run.trec",
    }
    assert {path.name for path in Path("outputs/default").iterdir() if not path.name.startswith(".")} == {
        folder.name,
        "collections",
        "command.json",
        "grid.parquet",
        "per_query.parquet",
    }


def test_the_tables_have_the_columns_of_the_schema_and_the_row_says_what_was_run():
    bench("retriever=faiss", "k=5")

    cells = grid()
    assert list(cells.columns) == [column.name for column in GRID]
    assert list(pd.read_parquet("outputs/default/per_query.parquet").columns) == [c.name for c in PER_QUERY]
    (cell,) = rows()
    asked = {
        "name": "default",
        "system": "faiss(hashing)",
        "collection": "tiny",
        "retriever": "faiss",
        "reranker": "none",
        "store": "faiss_flat",
        "embedder": "hashing",
        "analyzer": None,
        "depth": 100,
        "k": 5,
        "status": "ok",
        "queries": 8,
        "no_relevant": 1,
        "unanswered": 0,
        "judged_queries": 9,
        "unjudged_queries": 0,
    }
    assert {name: cell[name] for name in asked} == asked
    assert json.loads(cell["parameters"])["read_back"] == {"ntotal": 12, "dim": 256}
    assert np.isfinite([cell[measure] for measure in QUALITY]).all()
    assert cell["index_seconds"] > 0
    assert cell["latency_p50_ms"] is None


def test_a_mean_of_the_grid_is_the_mean_of_its_queries():
    bench("retriever=bm25", "k=[1,5]")

    per_query = pd.read_parquet("outputs/default/per_query.parquet")
    means = per_query.groupby("k")[QUALITY].mean()
    pd.testing.assert_frame_equal(grid().set_index("k")[QUALITY], means, check_exact=False, atol=1e-12)


def test_a_sweep_has_a_row_for_every_combination_in_order():
    answer = bench("-m", "retriever=hybrid,bm25", "reranker=overlap,none", "k=[10,1]")

    assert answer.code == 0, answer.err
    cells = grid()
    assert len(cells) == 8
    assert set(cells["status"]) == {"ok"}
    assert set(cells["system"]) == {"bm25", "bm25+overlap", "hybrid(hashing)", "hybrid+overlap(hashing)"}
    assert cells.equals(cells.sort_values(["collection", "system", "k"], ignore_index=True))
    assert "query type" not in answer.out
    # A reranker over the same candidates cannot change what is found at their depth.
    recall = cells[cells["k"] == 10].set_index("system")["recall"]
    assert recall["bm25"] == recall["bm25+overlap"]
    stages = pd.read_parquet(jobs()["hybrid+overlap(hashing)"] / "run.parquet").columns
    assert {"bm25_rank", "dense_score", "first_rank", "rerank_score"} <= set(stages)


def test_another_k_is_added_to_the_job_and_nothing_is_searched_again():
    bench(*COUNTING, "k=[1,3]")
    assert calls() == ["12 documents", "9 queries"]

    answer = bench(*COUNTING, "k=10", "cache_dir=an_empty_cache")

    assert answer.code == 0, answer.err
    assert calls() == ["12 documents", "9 queries"]
    assert list(grid()["k"]) == [1, 3, 10]
    assert len(jobs()) == 1
    assert "R@10" in answer.out
    assert "R@3" not in answer.out


def test_a_text_is_embedded_once_for_all_systems_and_names():
    bench(*COUNTING, "retriever=faiss", "k=1")
    bench(*COUNTING, "retriever=hybrid", "store=exact", "name=later", "k=1")

    assert calls() == ["12 documents", "9 queries"]


def test_a_second_run_does_nothing_and_says_the_same():
    first = bench("retriever=hybrid", "k=[1,5]")
    before = {path: time for path, time in written().items() if path.name == "manifest.json"}

    second = bench("retriever=hybrid", "k=[1,5]")

    assert (second.code, second.out) == (0, first.out)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_fresh_does_it_again_with_the_same_figures():
    bench(*COUNTING, "k=[1,5]")
    before, figures = written(), unmeasured(grid())

    answer = bench(*COUNTING, "k=[1,5]", "fresh=true")

    assert answer.code == 0, answer.err
    (manifest,) = (folder / "manifest.json" for folder in jobs().values())
    assert manifest.stat().st_mtime_ns > before[manifest]
    pd.testing.assert_frame_equal(unmeasured(grid()), figures)


def test_fresh_keeps_the_cells_at_other_k_and_they_are_as_fresh():
    timing = ("timing=default", "timing.queries=2", "timing.calls=2")
    bench(*COUNTING, "k=[1,5]", *timing)
    before = unmeasured(grid())

    bench(*COUNTING, "k=5", "fresh=true", *timing)

    pd.testing.assert_frame_equal(unmeasured(grid()), before)
    assert list(grid()["latency_p50_ms"].notna()) == [False, True]


def test_a_fresh_run_that_fails_is_told_and_what_was_mended_runs():
    words = (*OUR_PARTS, "reranker=broken", "k=5")
    Path("mended.txt").touch()
    assert bench(*words).code == 0
    Path("mended.txt").unlink()

    answer = bench(*words, "fresh=true")

    assert answer.code == 1
    assert "a bug in somebody's reranker" in answer.err
    Path("mended.txt").touch()
    assert bench(*words).code == 0
    assert list(grid()["status"]) == ["ok"]


def test_a_changed_grade_evaluates_again_and_retrieves_nothing(in_folder):
    tiny = copy_of_tiny(in_folder)
    bench("-m", *COUNTING, "retriever=bm25,faiss", "k=[1,5]", on=on(tiny))
    before = grid()
    replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")

    answer = bench(*COUNTING, "k=5", on=on(tiny))

    assert answer.code == 0, answer.err
    assert calls() == ["12 documents", "9 queries"]
    # A table never mixes two states of a collection: what has not been asked again is left out.
    assert "left out, of another state of a collection: 1 jobs" in answer.err
    before, after = before[before["retriever"] == "faiss"], grid()
    assert list(after["k"]) == [1, 5]
    assert after["qrels_digest"].nunique() == 1
    assert set(after["qrels_digest"]).isdisjoint(before["qrels_digest"])
    assert list(after["system_id"]) == list(before["system_id"])
    assert not np.allclose(after["ndcg"], before["ndcg"])


def test_a_changed_text_is_retrieved_again_and_the_earlier_job_is_left_out_and_counted(in_folder):
    tiny = copy_of_tiny(in_folder)
    bench(*COUNTING, "retriever=faiss", "k=5", on=on(tiny))
    replace_in(tiny / "corpus.jsonl", "Sevilla y Bilbao.", "Sevilla y Bilbao!")

    answer = bench(*COUNTING, "retriever=faiss", "k=5", on=on(tiny))

    assert answer.code == 0, answer.err
    assert "left out, of another state of a collection: 1 jobs" in answer.err
    # Of the texts the changed one alone is embedded again.
    assert calls() == ["12 documents", "9 queries", "1 documents"]
    assert list(grid()["system"]) == ["faiss(counting)"]
    assert len(list(Path("outputs/default").glob("*/manifest.json"))) == 2


def test_another_collection_stands_in_the_same_folder_and_only_what_was_asked_is_printed(in_folder):
    bench("-m", "retriever=bm25,faiss", "k=5")

    answer = bench("retriever=bm25", "k=5", "collection.name=other")

    assert list(grid()["collection"]) == ["other", "tiny", "tiny"]
    assert "other: 8 queries" in answer.out
    assert "tiny" not in answer.out


def test_equal_jobs_run_once_at_all_the_k_they_ask_for():
    answer = bench("-m", *COUNTING, "retriever=bm25,faiss", "bm25.k1=0.9,1.2", "k=3")

    assert answer.code == 0, answer.err
    assert list(grid()["system"]) == ["bm25(k1=0.9)", "bm25(k1=1.2)", "faiss(counting)"]
    assert calls() == ["12 documents", "9 queries"]

    bench("-m", "retriever=bm25,bm25", "k=[1],[3,5]", "name=twice")
    assert list(grid("twice")["k"]) == [1, 3, 5]


def test_an_engine_that_ranks_otherwise_is_another_system():
    bench("-m", "retriever=bm25", "bm25.engine=bm25s,rank_bm25", "k=5")

    assert list(grid()["system"]) == ["bm25", "bm25(engine=rank_bm25)"]
    assert grid()["system_id"].nunique() == 2
    assert set(grid()["analyzer"]) == {"spanish"}


def test_a_search_setting_is_swept_over_one_build_and_read_back():
    answer = bench("-m", "store=faiss_hnsw", "++store.search.efSearch=16,64", "k=5")

    assert answer.code == 0, answer.err
    read_back = {cell["system"]: json.loads(cell["parameters"])["read_back"]["efSearch"] for cell in rows()}
    # All twelve documents are asked for, so that neither ef is too small and both stay as they are.
    assert read_back == {"faiss(hashing,faiss_hnsw)": 64, "faiss(hashing,faiss_hnsw,efSearch=16)": 16}
    (indexes,) = Path("cache/indexes").iterdir()
    assert indexes.is_dir()


def test_a_setting_that_an_index_does_not_have_skips_that_cell_and_is_no_failure():
    answer = bench("-m", "store=faiss_hnsw,faiss_flat", "++store.search.efSearch=16", "k=[1,5]")

    assert answer.code == 0, answer.err
    cells = grid()
    assert cells.value_counts("status").to_dict() == {"ok": 2, "skipped": 2}
    skipped = cells[cells["status"] == "skipped"]
    assert set(skipped["system"]) == {"faiss(hashing,efSearch=16)"}
    assert skipped["ndcg"].isna().all()
    assert skipped["reason"].str.contains("the index Flat has no such setting").all()
    assert answer.err.count("skipped: ") == 1  # once a system, whatever the number of its k


def test_a_store_of_another_library_is_skipped_by_the_retriever_that_names_one():
    answer = bench("-m", "retriever=faiss,dense", "store=exact", "k=5")

    assert answer.code == 0, answer.err
    assert dict(zip(grid()["system"], grid()["status"], strict=True)) == {
        "dense(hashing,exact)": "ok",
        "faiss(hashing,exact)": "skipped",
    }


def test_a_cell_that_fails_is_recorded_with_its_reason_and_the_others_go_on():
    answer = bench("-m", *OUR_PARTS, "reranker=broken,none", "k=[1,5]")

    assert answer.code == 1
    assert answer.last_line == "outputs/default/grid.parquet"
    assert "failed: faiss+broken(hashing) on tiny: RuntimeError: a bug in somebody's reranker" in answer.err
    cells = grid()
    assert cells.value_counts("status").to_dict() == {"ok": 2, "failed": 2}
    failed = cells[cells["status"] == "failed"]
    assert list(failed["k"]) == [1, 5]
    assert set(failed["reason"]) == {"RuntimeError: a bug in somebody's reranker"}


def test_a_job_whose_library_or_model_cannot_be_had_fails_at_once_and_the_others_run():
    answer = bench("-m", *OUR_PARTS, "embedder=missing,hashing,unreachable", "k=5")

    assert answer.code == 1
    assert {cell["system"]: cell["reason"] for cell in rows()} == {
        "faiss(hashing)": None,
        "faiss(missing)": "the library library is not installed: pip install 'bench[vectors]'",
        "faiss(unreachable)": "the model is on another planet: take embedder=hashing",
    }

    Path("library.txt").touch()
    answer = bench(*OUR_PARTS, "embedder=missing", "k=5")
    assert answer.code == 0, answer.err
    # With its library it turns out to be the hashing embedder by another name, which has been run.
    assert grid().value_counts("status").to_dict() == {"ok": 1, "failed": 1}


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["store=faiss_hnsw", "++store.search.efSearch=16"], "faiss(hashing,faiss_hnsw,efSearch=16)"),
        (
            ["reranker=overlap", "rerank_depth=5", "depth=20"],
            "faiss+overlap(hashing,rerank_depth=5,depth=20)",
        ),
        (
            ["retriever=hybrid", "fusion=rrf", "fusion.rank_constant=10", "bm25.b=0.3"],
            "hybrid(hashing,b=0.3,rrf,rank_constant=10)",
        ),
        (["retriever=bm25", "analyzer=plain", "analyzer.fold=true"], "bm25(plain,fold=true)"),
        (
            ["retriever=hybrid", "fusion.sides.bm25.weight=2", "fusion.sides.dense.weight=3"],
            "hybrid(hashing,bm25.weight=2,dense.weight=3)",
        ),
        (
            ["retriever=hybrid", "depth=20", "fusion.sides.bm25.depth=20"],
            "hybrid(hashing,bm25.depth=20,depth=20)",
        ),
        (["retriever=hybrid", "~fusion.sides.bm25"], "hybrid(hashing,~fusion.sides.bm25)"),
        # What the retriever does not use, it is not called by.
        (["retriever=bm25", "embedder.dim=64", "store=exact", "rerank_depth=7"], "bm25"),
    ],
)
def test_a_label_holds_in_brackets_what_differs_from_the_defaults(words, label):
    assert f"  {label} on tiny, k=[5]: to do" in bench(*words, "dry_run=true").out


def test_systems_that_differ_are_called_differently():
    words = ("retriever=hybrid", "fusion.sides.bm25.weight=0.5,2", "fusion.sides.dense.weight=1,2")
    told = bench("-m", *words, "dry_run=true").out

    labels = [line.split(" on ")[0].strip() for line in told.splitlines() if " on tiny" in line]
    assert len(set(labels)) == len(labels) == 4


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(in_folder):
    answer = bench("-m", "retriever=bm25,faiss", "k=[1,5]", "dry_run=true", "timing=default")

    assert answer.code == 0
    assert "jobs: 2, cells: 4, into outputs/default" in answer.out
    assert "bm25 on tiny, k=[1, 5]: to do" in answer.out
    assert "about 0.3 minutes" in answer.out
    assert not any(in_folder.iterdir())

    bench("retriever=bm25", "k=5")
    answer = bench("-m", "retriever=bm25,faiss", "k=5", "dry_run=true")
    assert "bm25 on tiny, k=[5]: done already" in answer.out
    assert "faiss(hashing) on tiny, k=[5]: to do" in answer.out
    assert list(jobs()) == ["bm25"]


def test_latency_is_measured_once_for_every_k_and_kept():
    timing = ("timing=default", "timing.queries=3", "timing.calls=6", "timing.seconds=1")

    answer = bench("retriever=bm25", "k=[1,5]", *timing)

    assert answer.code == 0, answer.err
    assert "ms p50" in answer.out
    assert (grid()["latency_p50_ms"] > 0).all()
    assert grid()["latency_p95_ms"].isna().all()  # six calls say nothing about the slowest twentieth
    (folder,) = jobs().values()
    samples = pd.read_parquet(folder / "timings.parquet")
    assert samples.groupby("k").size().to_dict() == {1: 6, 5: 6}
    assert samples["query_id"].nunique() == 3

    before = written()
    bench("retriever=bm25", "k=5", *timing)
    assert written() == before | {
        Path("outputs/default/command.json"): written()[Path("outputs/default/command.json")]
    }


def test_ids_with_blanks_run_but_give_no_trec_file_and_the_manifest_says_why(in_folder):
    tiny = copy_of_tiny(in_folder)
    for file in ("corpus.jsonl", "qrels/test.tsv"):
        path = tiny / file
        path.write_text(path.read_text().replace("pago-error", "pago error"))

    answer = bench("retriever=bm25", "k=5", on=on(tiny))

    assert answer.code == 0, answer.err
    (folder,) = jobs().values()
    assert not (folder / "run.trec").exists()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["run_trec_missing"] == "the id 'pago error' holds a blank"


def test_a_trec_file_holds_every_digit_of_the_scores():
    bench("retriever=bm25", "k=5")

    (folder,) = jobs().values()
    lines = [line.split() for line in (folder / "run.trec").read_text().splitlines()]
    run = pd.read_parquet(folder / "run.parquet")
    assert [(q, d, int(r), float(s)) for q, _, d, r, s, _ in lines] == list(
        run[["query_id", "doc_id", "rank", "score"]].itertuples(index=False, name=None)
    )


def test_only_the_first_queries_are_run_with_a_limit():
    bench("retriever=bm25", "k=5", "collection.limit=3")

    (cell,) = grid().to_dict("records")
    assert (cell["judged_queries"], cell["queries"]) == (3, 3)


def test_what_loading_found_is_said_on_standard_error(in_folder):
    tiny = copy_of_tiny(in_folder)
    with (tiny / "queries.jsonl").open("a") as queries:
        queries.write('{"_id": "q10", "text": "¿y los domingos?"}\n')

    answer = bench("retriever=bm25", "k=5", on=on(tiny))

    assert answer.code == 0
    assert "tiny: 1 of 10 queries have no judgement and are left out of every mean" in answer.err
    assert grid()["unjudged_queries"].tolist() == [1]


def test_the_package_runs_jobs_however_often_it_is_asked():
    assert list(package.run(*TINILY, "retriever=bm25", "k=1").grid["k"]) == [1]
    assert list(package.run(*TINILY, "retriever=bm25", "k=5").grid["k"]) == [5]


def test_python_calls_the_same_program_and_loads_what_it_wrote():
    results = run(*TINILY, "retriever=bm25", "k=[1,5]")

    assert list(results.grid["k"]) == [1, 5]
    loaded = package.load("outputs/default")
    pd.testing.assert_frame_equal(loaded.grid, results.grid)
    pd.testing.assert_frame_equal(loaded.per_query, results.per_query)
    assert set(loaded.queries("tiny")) == {f"q{i}" for i in range(1, 10)}
    with pytest.raises(BenchError, match="outputs/nothing holds no finished job"):
        package.load("outputs/nothing")
    with pytest.raises(BenchError, match="did you mean 'bm25'"):
        run(*TINILY, "retriever=bm52")
