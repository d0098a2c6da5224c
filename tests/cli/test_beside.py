"""What is told beside the figures: reference systems, abstention, and how alike the systems are."""

import itertools
import json
import re

import pytest
from tests.cli.program import bench, copy_of_tiny, grid, on

import bench as package
from bench.references import references
from bench.verbs.data import loaded


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


def rows_of(table: str, begin: str) -> dict[str, list[str]]:
    """The figures of the rows below the head that begins so, by what stands first in them."""
    lines = table[table.index(begin) :].splitlines()
    rows = itertools.takewhile(str.strip, lines[2:])
    return {name: figures for name, *figures in (re.split(r"\s{2,}", row.strip()) for row in rows)}


def with_unanswerable_queries(folder, count: int):
    """The tiny collection with further queries that nothing answers."""
    tiny = copy_of_tiny(folder)
    with (tiny / "queries.jsonl").open("a") as queries, (tiny / "qrels" / "test.tsv").open("a") as qrels:
        for i in range(count):
            asked = {"_id": f"u{i}", "text": f"¿vendéis bicicletas {i}?", "metadata": {"need": f"u{i}"}}
            queries.write(json.dumps(asked) + "\n")
            qrels.write(f"u{i}\ttiendas\t0\n")
    return tiny


def test_the_reference_systems_are_told_from_the_folder_alone(in_folder):
    tiny = copy_of_tiny(in_folder)
    bench("retriever=bm25", "k=[1,5]", "depth=5", on=on(tiny))
    collection = loaded(str(tiny))
    needs = {query.id: query.need for query in collection.queries}
    expected = references(collection.qrels, needs, documents=12, ks=[1, 5])

    (kept,) = package.load("outputs/default").kept.values()

    assert kept.documents == 12
    assert len(kept.collection.docs) <= 12
    assert references(kept.collection.qrels, needs, documents=kept.documents, ks=[1, 5]) == expected


def test_abstention_is_told_where_enough_queries_have_no_answer(in_folder):
    few = with_unanswerable_queries(in_folder, 3)
    assert "abstention" not in bench("retriever=bm25", "k=5", on=on(few)).out
    told = bench("abstention", "outputs/default", on=()).out
    assert "its unanswerable queries have 4 needs" in told

    (in_folder / "more").mkdir()
    enough = with_unanswerable_queries(in_folder / "more", 12)
    answer = bench("retriever=bm25", "k=5", "name=more", on=on(enough))

    assert answer.code == 0, answer.err
    head = next(line for line in answer.out.splitlines() if line.strip().startswith("abstention"))
    assert head.split() == ["abstention", "AUROC", "95", "%", "threshold", "kept", "passed", "tokens@5"]
    assert "of 8 answerable, passed: of 13 unanswerable queries" in answer.out
    assert answer.last_line == "outputs/more/grid.parquet"


def test_fusion_by_rank_has_scores_that_say_nothing_and_reranked_it_has_some(in_folder):
    tiny = with_unanswerable_queries(in_folder, 8)
    bench("-m", "retriever=hybrid", "fusion=rrf,weighted", "reranker=none,overlap", "k=5", on=on(tiny))

    told = bench("abstention", "outputs/default", on=()).out

    (silent,) = [line for line in told.splitlines() if "made of ranks" in line]
    assert silent.startswith("hybrid(hashing,rrf): none")
    assert set(rows_of(told, "abstention")) == {
        "hybrid(hashing)", "hybrid+overlap(hashing)", "hybrid+overlap(hashing,rrf)",
    }  # fmt: skip


def test_under_the_systems_stand_the_references_and_how_alike_they_are_is_told_of_every_pair():
    answer = bench("-m", "retriever=bm25,faiss,hybrid", "k=[1,5]")

    assert answer.code == 0, answer.err
    systems = ["bm25", "faiss(hashing)", "hybrid(hashing)"]
    rows = rows_of(answer.out, "system")
    assert list(rows) == [*systems, "(random)", "(popular)", "(oracle)"]
    assert rows["(oracle)"][:2] == ["0.750", "1.000"]
    assert not any("*" in figure for name in rows if name.startswith("(") for figure in rows[name])
    assert list(grid()["system"].unique()) == systems

    alike = rows_of(bench("similarity", "outputs/default", on=()).out, "RBO \\ Overlap@5")

    assert [name.split()[1] for name in alike] == systems
    figures = list(alike.values())
    assert all(figures[i][i] == "·" for i in range(3))
    assert all(0 <= float(figures[i][j]) <= 1 for i in range(3) for j in range(3) if i != j)


@pytest.mark.parametrize("verb", ["abstention", "similarity"])
def test_a_verb_about_runs_needs_one_folder_with_results(verb):
    answer = bench(verb, on=())
    assert (answer.code, answer.out) == (2, "")
    assert f"{verb}: of which folder?" in answer.err
    assert "holds no finished job" in bench(verb, "outputs/nothing", on=()).err
