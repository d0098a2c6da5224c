"""Cells of a token budget beside those of k: through the whole program, added later, merged, failed and told."""

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import OUR_PARTS, bench, calls, copy_of_tiny, grid, on, replace_in

import bench as package
from bench.collection import TOKEN
from bench.grid import MetricGrid

COUNTING = (*OUR_PARTS, "embedder=counting")


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """What one command printed and the folder that it wrote, for the tests that only look."""
    folder = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BENCH_CACHE", str(folder / "cache"))
        answer = bench("retriever=bm25", "k=[1,5]", "budget=[40,15]")
    assert answer.code == 0, answer.err
    return answer, folder / "outputs" / "default"


def cuts(folder="outputs/default"):
    """The k and the budget of every row of a grid."""
    rows = MetricGrid.read(Path(folder) / "grid.parquet").rows()
    return [(row["k"], row["budget"]) for row in rows]


def test_a_budget_has_cells_beside_those_of_k_and_columns_in_the_table(swept):
    answer, folder = swept
    assert cuts(folder) == [(1, None), (5, None), (None, 15), (None, 40)]
    head = next(line for line in answer.out.splitlines() if "R@1" in line)
    assert head.split()[1:5] == ["R@1", "R@5", "R@15t", "R@40t"]
    within = package.load(folder).budgets
    assert (within["context_tokens"] <= within["budget"]).all()
    assert within["latency_p50_ms"].isna().all()
    assert within["recall"].is_monotonic_increasing


def test_results_keep_cells_of_k_and_of_budgets_apart(swept):
    results = package.load(swept[1])
    assert results.grid["k"].tolist() == [1, 5]
    assert results.grid["k"].dtype == "int64"
    assert results.budgets["budget"].tolist() == [15, 40]
    assert results.budgets["k"].isna().all()
    assert set(results.per_query["k"]) == {1, 5}
    means = results.budgets_per_query.groupby("budget")["recall"].mean()
    assert results.budgets.set_index("budget")["recall"].to_dict() == pytest.approx(means.to_dict())


def test_the_chunks_within_a_budget_are_those_of_the_texts(swept):
    _, folder = swept
    lengths = {}
    for line in (next((folder / "collections").iterdir()) / "corpus.jsonl").read_text().splitlines():
        doc = json.loads(line)
        lengths[doc["_id"]] = len(TOKEN.findall(f"{doc['title']} {doc['text']}"))
    run = pd.read_parquet(next(folder.glob("bm25-*")) / "run.parquet")
    run["tokens"] = run["doc_id"].map(lengths)
    fits = run[run.groupby("query_id")["tokens"].cumsum() <= 40]
    cell = package.load(folder).budgets.iloc[1]
    # A query for which nothing came back has no row in the run, and gets nothing.
    assert cell["context_chunks"] == pytest.approx(len(fits) / 9)
    assert cell["context_tokens"] == pytest.approx(fits["tokens"].sum() / 9)


def test_another_budget_is_added_to_the_job_and_nothing_is_searched_again():
    bench(*COUNTING, "k=5", "budget=30")

    answer = bench(*COUNTING, "k=5", "budget=[60]")

    assert answer.code == 0, answer.err
    assert calls() == ["12 documents", "9 queries"]
    assert cuts() == [(5, None), (None, 30), (None, 60)]
    # The terminal shows what this command asked.
    assert "R@60t" in answer.out
    assert "R@30t" not in answer.out
    assert "done already" in bench(*COUNTING, "k=5", "budget=[30,60]", "dry_run=true").out
    assert "budget=[90]: to do" in bench(*COUNTING, "k=5", "budget=90", "dry_run=true").out


def test_equal_jobs_run_once_at_all_their_budgets():
    answer = bench("-m", *COUNTING, "retriever=faiss", "k=5", "budget=30,[60,90]")

    assert answer.code == 0, answer.err
    assert cuts() == [(5, None), (None, 30), (None, 60), (None, 90)]
    assert calls() == ["12 documents", "9 queries"]


def test_a_cell_of_a_budget_fails_with_its_job_and_is_done_when_it_is_mended():
    words = (*OUR_PARTS, "reranker=broken", "k=5", "budget=30")

    answer = bench(*words)

    assert answer.code == 1
    assert answer.err.count("failed: ") == 1
    assert cuts() == [(5, None), (None, 30)]
    assert set(grid()["status"]) == {"failed"}
    Path("mended.txt").touch()
    assert bench(*words).code == 0
    assert list(grid()["status"]) == ["ok", "ok"]


def test_a_changed_grade_is_seen_within_budgets_too(in_folder):
    tiny = copy_of_tiny(in_folder)
    bench("retriever=bm25", "budget=[400]", on=on(tiny))
    before = grid()
    replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")

    bench("retriever=bm25", "budget=[400]", on=on(tiny))

    assert cuts() == [(5, None), (None, 400)]
    assert grid()["ndcg"].iloc[1] != before["ndcg"].iloc[1]


def test_stored_runs_are_scored_again_within_their_budgets(in_folder):
    tiny = copy_of_tiny(in_folder)
    bench("retriever=bm25", "k=1", "budget=[30,400]", on=on(tiny))
    replace_in(tiny / "qrels" / "test.tsv", "q8\tdevolver-higiene\t2", "q8\tdevolver-higiene\t0")

    answer = bench("evaluate", "outputs/default", on=())

    assert answer.code == 0, answer.err
    again = grid()
    bench("retriever=bm25", "k=1", "budget=[30,400]", "name=anew", on=on(tiny))
    fixed = ["k", "budget", "recall", "ndcg", "precision", "complete", "context_tokens", "queries"]
    pd.testing.assert_frame_equal(again[fixed], grid("anew")[fixed])


def test_a_budget_with_room_for_every_candidate_is_told():
    answer = bench("retriever=faiss", "k=3", "depth=3", "budget=400")

    assert "has room for all depth=3 candidates of 9 queries" in answer.err
    assert "has room" not in bench("retriever=faiss", "k=3", "budget=400", "name=deep").err


@pytest.mark.parametrize("budget", ["0", "[5,-1]", "many", "[1.5]", "null"])
def test_a_budget_is_a_whole_number_or_several(budget, in_folder):
    answer = bench(f"budget={budget}")

    assert answer.code == 2
    assert "budget is a whole number from 1, or a list of them, budget=[500,1000]" in answer.err
    assert not Path("outputs").exists()
