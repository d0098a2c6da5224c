"""The facts of a report: they are those of the folder, and small enough to be sent."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from tests.conftest import make_qrels, make_run
from tests.report_facts import HOSTILE, HOSTILE_DOC, LONG_DOC, WORDLESS, shared_folder, shared_report

from bench.collection import Collection, Doc, Query
from bench.statistics.findings import Findings
from bench.statistics.panel import Panel
from bench.statistics.per_query import Room, documents, hardest_first, query_rankings


@pytest.fixture(scope="module")
def facts() -> Findings:
    return shared_report().findings[0]


def collection(**judged: dict[str, float]) -> Collection:
    ids = ["a", "b", "c", "d"]
    return Collection(
        name="made",
        docs=tuple(Doc(id=one, text=one * 2_000) for one in ids),
        queries=tuple(Query(id=query, text=query) for query in judged),
        qrels=make_qrels(judged),
    )


def test_every_cell_of_the_grid_is_there_with_its_figures(facts):
    grid = pd.read_parquet(shared_folder() / "grid.parquet")
    own = grid[grid["collection"] == facts.collection]
    assert len(facts.cells) == len(own)
    for row, cell in zip(own.to_dict("records"), facts.cells, strict=True):
        assert (cell.system, cell.k, cell.status) == (row["system"], row["k"], row["status"])
        for measure, figure in cell.values.items():
            assert figure.mean == row[measure]
            assert [figure.lo, figure.hi] == [
                None if pd.isna(row[f"{measure}_{end}"]) else row[f"{measure}_{end}"] for end in ("lo", "hi")
            ]


def test_the_test_is_made_at_the_measure_and_k_that_are_named(facts):
    assert (facts.measure, facts.k, facts.printed, facts.deciding) == ("ndcg", 5, "nDCG@5", "complete")
    assert facts.baseline == "bm25"
    assert set(facts.significance) == set(facts.systems) - {"bm25"}
    assert {change.measure for change in facts.significance.values()} == {"nDCG@5"}


def test_measures_begin_with_the_lenses_and_end_with_judged(facts):
    assert facts.measures[:5] == (*facts.lenses, "complete")
    assert facts.measures[-1] == "judged"
    assert {"recall", "complete", "success"} <= set(facts.across_k)
    assert not {"precision", "mrr", "ndcg"} & set(facts.across_k)


def test_failed_and_skipped_cells_have_their_reason(facts):
    status = {cell.system: (cell.status, cell.reason) for cell in facts.cells if cell.status != "ok"}
    assert status["bm25+broken"] == ("failed", "RuntimeError: a bug in somebody's reranker")
    assert status["faiss(hashing,exact)"][0] == "skipped"
    assert set(dict(facts.failed)) == set(status)


def test_the_answer_has_one_to_three_sentences(facts):
    best, advice, reranker = facts.answer.sentences
    assert "has the highest nDCG@5" in best
    assert "Complete@" in advice
    assert "+overlap" in reranker
    assert reranker.endswith("ms to the median of a call.")
    assert facts.answer.overview is facts.overview


def test_an_answer_without_anything_to_compare_says_so(facts):
    bare = dataclasses.replace(facts.answer, overview=None, advised=None, reranked=None)
    assert bare.sentences == ("No query has a value from every system, so there is nothing to compare.",)
    assert bare.advice is None


def test_references_stand_beside_the_lenses_at_every_k(facts):
    assert set(facts.references) == {(lens, k) for lens in facts.lenses for k in facts.ks}
    assert facts.references["ndcg", 5]["oracle"] == 1.0


def test_queries_are_told_the_hardest_first_and_those_that_do_not_count_last(facts):
    hardness = [one.hardness for one in facts.ranked]
    counted = [one for one in hardness if one is not None]
    assert counted == sorted(counted)
    assert hardness[len(counted) :] == [None] * (len(hardness) - len(counted))
    assert next(one for one in facts.ranked if one.query_id == WORDLESS).text == ""


def test_hardness_is_the_mean_over_the_systems_that_have_a_value():
    values = {("ndcg", 5): np.array([[0.2, 0.4], [np.nan, 0.1], [np.nan, np.nan]])}
    ranked = hardest_first(
        Panel(("x", "y"), ("p", "q", "r"), ("p", "q", "r"), values),
        collection(p={"a": 2, "b": 1, "c": 0}, q={"a": 1}, r={"a": 0}),
        measures=["ndcg"], measure="ndcg", k=5,
    )  # fmt: skip
    assert [(one.query_id, one.hardness) for one in ranked] == [
        ("q", 0.1), ("p", pytest.approx(0.3)), ("r", None),
    ]  # fmt: skip
    assert ranked[0].values == {("y", 5): {"ndcg": 0.1}}
    assert [one.relevant for one in ranked] == [1, 2, 0]


def test_rankings_tell_grades_stages_and_where_what_is_missing_was():
    of = collection(p={"a": 2, "b": 1, "gone": 1, "c": 0})
    runs = {
        "x": make_run({"p": ["c", "d", "a"]}, ["a", "b", "c", "d"]).as_stage("search"),
        "y": make_run({"p": ["a", "b"]}, ["a", "b", "c", "d"]),
    }
    found = query_rankings(runs, of, ["p"], depth=2, k=2)["p"]
    first, second = found.lists["x"]
    assert (first.doc_id, first.rank, first.grade) == ("c", 1, 0)
    assert (second.doc_id, second.grade) == ("d", None)
    assert first.stages == {"search": (1, first.score)}
    assert [(one.doc_id, one.grade, dict(one.ranks)) for one in found.missing] == [
        ("a", 2, {"x": 3, "y": 1}), ("b", 1, {"x": None, "y": 2}), ("gone", 1, {"x": None, "y": None}),
    ]  # fmt: skip


def test_a_judged_query_that_the_collection_lacks_is_told_without_text_or_rankings():
    of = dataclasses.replace(collection(p={"a": 1}), qrels=make_qrels({"p": {"a": 1}, "unknown": {"b": 1}}))
    panel = Panel(("x",), ("p", "unknown"), ("p", "unknown"), {("ndcg", 5): np.array([[1.0], [0.0]])})
    ranked = hardest_first(panel, of, measures=["ndcg"], measure="ndcg", k=5)
    runs = {"x": make_run({"p": ["a"]}, ["a", "b", "c", "d"])}
    assert [(one.query_id, one.text) for one in ranked] == [("unknown", ""), ("p", "p")]
    assert query_rankings(runs, of, panel.queries, depth=5, k=5)["unknown"].lists == {}


def test_a_query_that_is_not_answered_has_empty_lists():
    runs = {"x": make_run({"p": []}, ["a", "b", "c", "d"])}
    found = query_rankings(runs, collection(p={"a": 1}), ["p"], depth=5, k=5)["p"]
    assert found.lists == {"x": ()}
    assert found.missing[0].ranks == {"x": None}


def test_texts_are_cut_where_there_are_many_and_say_so():
    of = collection(p={"a": 1})
    rankings = query_rankings({"x": make_run({"p": ["a", "b"]}, list("abcd"))}, of, ["p"], depth=5, k=5)
    found = documents(rankings, of, room=Room(characters=1_000))
    assert {doc: (len(one.text), one.cut) for doc, one in found.items()} == {
        "a": (500, True),
        "b": (500, True),
    }


def test_rankings_are_told_less_deep_where_there_are_many():
    room = Room(hits=1_000)
    assert [room.depth(rankings) for rankings in (0, 10, 100, 10_000)] == [20, 20, 10, 3]
    assert room.shared(2) == Room(500, room.characters // 2)


def test_a_long_chunk_is_cut_and_a_hostile_one_stays_as_it_is(facts):
    assert facts.documents[HOSTILE_DOC].title == HOSTILE
    assert (len(facts.documents[LONG_DOC].text), facts.documents[LONG_DOC].cut) == (1_200, True)


def test_a_folder_tells_how_it_was_made():
    made = shared_report().provenance
    assert made.command is not None
    assert made.command.startswith("python -m bench -m collection=beir")
    assert set(made.digests) == {"hostile", "tiny"}
    assert made.configs["hostile / bm25"].startswith("name: facts\n")
    assert {"python", "bench", "numpy"} <= set(made.versions)
    assert any("no relevant document" in line for line in made.left_out)
    assert any(line.startswith("hostile: bm25+broken failed") for line in made.left_out)


def test_slices_are_of_the_metadata_of_the_queries(facts):
    assert {one.key for one in facts.slices} == {"topic", "type"} == {one.key for one in facts.interactions}
    assert sum(one.queries for one in facts.slices if one.key == "type") == sum(
        one.hardness is not None for one in facts.ranked
    )


def test_all_facts_are_plain_values(facts):
    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {str(key): plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    told = dataclasses.replace(facts, overview=None, answer=dataclasses.replace(facts.answer, overview=None))
    assert json.dumps(plain(dataclasses.asdict(told)))
