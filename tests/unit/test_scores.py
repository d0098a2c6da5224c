"""Runs scored: tidy tables, what is counted beside a mean, what bounds it, and what is worth saying."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.metrics import MEASURES, parse
from bench.scores import Rules, score
from bench.tables.scores import as_json, tables, told
from bench.verbs.evaluate_request import request

docs = st.sampled_from([f"d{i}" for i in range(8)])
queries = st.sampled_from([f"q{i}" for i in range(5)])
judgements = st.dictionaries(queries, st.dictionaries(docs, st.integers(-1, 3), min_size=1), min_size=1)
rankings = st.dictionaries(
    queries, st.dictionaries(docs, st.integers(0, 3).map(float), min_size=1), min_size=1
)


def cells(*names):
    return tuple(parse(name) for name in names)


def one(ranked, judged, name, **rules):
    """The row of one run and measure."""
    (row,) = scored(ranked, judged, name, **rules).measures.to_pylist()
    return row


def scored(ranked, judged, *names, **rules):
    return score({"run": make_run(ranked)}, make_qrels(judged), rules=Rules(cells=cells(*names), **rules))


EVERY = [measure.at(3) for measure in MEASURES.values()] + ["P(rel=2)@3", "P@1", "nDCG@5"]


@settings(max_examples=30, deadline=None)
@given(judgements, rankings, st.booleans())
def test_every_value_is_that_of_evaluate_and_every_judged_query_is_counted_once(judged, ranked, zero):
    if not judged.keys() & ranked.keys():
        return
    run, qrels = make_run(ranked), make_qrels(judged)
    found = score({"a": run}, qrels, rules=Rules(cells=cells(*EVERY), no_relevant_is_zero=zero))
    rows = {row["measure"]: row for row in found.measures.to_pylist()}
    values = {}
    for row in found.per_query.to_pylist():
        values.setdefault(row["measure"], []).append(np.nan if row["value"] is None else row["value"])
    assert list(rows) == EVERY
    for name in EVERY:
        measure, k = parse(name)
        alone = evaluate(run, qrels, ks=[k or 3], measures=[measure], no_relevant_is_zero=zero)
        np.testing.assert_array_equal(values[name], alone.values[measure.key, k or 3])
        row = rows[name]
        mean = alone.mean(measure.key, k or 3)
        assert row["mean"] == (None if mean is None else pytest.approx(mean, abs=1e-12))
        assert row["queries"] == alone.counted(measure.key, k or 3)
        assert row["judged_queries"] == len(judged)
        assert row["unjudged_queries"] == len(ranked.keys() - judged.keys())
        if measure.name == "judged":
            assert row["queries"] + row["unanswered"] == len(judged)
        elif not zero:
            assert row["queries"] + row["no_relevant"] == len(judged)
        for low, high in (("low", "high"), ("tie_lowest", "tie_highest"), ("tie_lowest", "tie_expected")):
            if row["mean"] is not None and row[low] is not None and row[high] is not None:
                assert row[low] <= row[high] + 1e-12
        if row["mean"] is not None and row["low"] is not None:
            assert row["low"] - 1e-12 <= row["mean"] <= row["high"] + 1e-12
        if row["mean"] is not None and row["tie_lowest"] is not None:
            assert row["tie_lowest"] - 1e-12 <= row["mean"] <= row["tie_highest"] + 1e-12


def test_no_relevant_and_unanswered_are_counted_at_the_threshold_of_the_measure():
    judged = {"q1": {"a": 2}, "q2": {"b": 1}, "q3": {"c": 0}}
    ranked = {"q2": {"b": 1.0}, "q3": {"c": 1.0}, "q4": {"a": 1.0}}
    counts = ("queries", "unanswered", "no_relevant", "judged_queries", "unjudged_queries")
    assert [one(ranked, judged, "P@1")[name] for name in counts] == [2, 1, 1, 3, 1]
    assert [one(ranked, judged, "P(rel=2)@1")[name] for name in counts] == [1, 1, 2, 3, 1]
    assert [one(ranked, judged, "Judged@1")[name] for name in counts] == [2, 1, 0, 3, 1]


def test_no_relevant_as_zero_is_in_the_mean_and_still_counted():
    judged, ranked = {"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": ["a"], "q2": ["b"]}
    plain, zero = one(ranked, judged, "RR@5"), one(ranked, judged, "RR@5", no_relevant_is_zero=True)
    assert (plain["mean"], plain["queries"], plain["no_relevant"]) == (1.0, 1, 1)
    assert (zero["mean"], zero["queries"], zero["no_relevant"]) == (0.5, 2, 1)


def test_by_the_rules_of_trec_eval_a_missing_query_is_dropped_counted_and_told():
    judged, ranked = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}, {"q1": ["a"], "q3": ["c"]}
    found = scored(ranked, judged, "RR@5", trec_eval=True)
    (row,) = found.measures.to_pylist()
    assert (row["mean"], row["queries"], row["unanswered"], row["judged_queries"]) == (0.5, 2, 1, 3)
    assert found.notes == ("run: trec_eval's mean leaves out 1 judged queries that it does not answer",)


def test_ties_are_bounded_and_their_expectation_is_told():
    # One of three equal scores is relevant: 1, 1/2 and 1/3 are equally likely.
    row = one({"q": {"a": 0.7, "b": 0.7, "c": 0.7}}, {"q": {"a": 1}}, "RR@3")
    assert row["mean"] == row["tie_lowest"] == pytest.approx(1 / 3)
    assert row["tie_expected"] == pytest.approx(0.6111, abs=1e-4)
    assert row["tie_highest"] == 1.0


def test_unjudged_documents_bound_a_value_by_query_and_in_the_mean():
    # The course's example: with x relevant the ideal grows, so nDCG falls to 0.850.
    judged = {"q": {"a": 1, "n1": 0, "n2": 0, "n3": 0}}
    found = scored({"q": ["a", "n1", "n2", "n3", "x"]}, judged, "nDCG@5", "AP@5")
    ndcg, ap = found.measures.to_pylist()
    assert (round(ndcg["low"], 3), ndcg["mean"], round(ndcg["high"], 3)) == (0.85, 1.0, 1.0)
    assert (ap["low"], ap["high"]) == (None, None)
    assert found.per_query.to_pylist()[0]["low"] == ndcg["low"]


def test_what_another_run_found_might_be_relevant_too():
    judged = {"q": {"a": 1}}
    runs = {"one": make_run({"q": ["a"]}), "two": make_run({"q": ["a", "x", "y"]})}
    found = score(runs, make_qrels(judged), rules=Rules(cells=cells("R@1")))
    alone = score({"one": runs["one"]}, make_qrels(judged), rules=Rules(cells=cells("R@1")))
    assert found.measures.to_pylist()[0]["low"] == pytest.approx(1 / 3)
    assert alone.measures.to_pylist()[0]["low"] == 1.0


def test_an_interval_stands_beside_the_mean_from_10_queries_on():
    judged = {f"q{i}": {"a": 1} for i in range(12)}
    ranked = {f"q{i}": ["a"] if i % 3 else ["x", "a"] for i in range(12)}
    row = one(ranked, judged, "RR@5")
    assert 0.5 < row["lo"] < row["mean"] < row["hi"] < 1
    few = one({"q1": ["a"]}, {"q1": {"a": 1}}, "RR@5")
    assert (few["lo"], few["hi"]) == (None, None)


def test_queries_of_one_need_are_one_witness_for_an_interval():
    judged = {f"q{i}": {"a": 1} for i in range(30)}
    ranked = make_run({f"q{i}": ["a"] if i % 15 < 8 else ["x", "a"] for i in range(30)})
    needs = {f"q{i}": f"n{i % 15}" for i in range(30)}
    rules = Rules(cells=cells("nDCG@5"))
    (alone,), (together,) = (
        score({"run": ranked}, make_qrels(judged), rules=rules, needs=given).measures.to_pylist()
        for given in (None, needs)
    )
    assert together["mean"] == alone["mean"]
    assert together["hi"] - together["lo"] > 1.2 * (alone["hi"] - alone["lo"])
    few = score({"run": ranked}, make_qrels(judged), rules=rules, needs=dict.fromkeys(judged, "one"))
    assert few.measures["lo"].to_pylist() == [None]


def test_a_run_without_a_judged_query_is_refused_with_ids_of_both():
    with pytest.raises(BenchError, match=r"no query in common: it answers 7, 8; judged are q7"):
        scored({"7": ["a"], "8": ["a"]}, {"q7": {"a": 1}}, "P@1")
    composed, apart = "año", unicodedata.normalize("NFD", "año")
    with pytest.raises(BenchError, match=r"1 query ids are judged in another Unicode form \(NFC, NFD\)"):
        scored({apart: ["a"]}, {composed: {"a": 1}}, "P@1")


def test_a_run_without_a_judged_document_is_scored_and_told():
    found = scored({"q": ["7", "8"]}, {"q": {"d7": 1}}, "P@1")
    assert found.notes == (
        "run: no document that it returned is judged; are its ids those of the judgements?",
    )


def test_a_k_beyond_the_place_where_rankings_were_cut_is_told():
    judged = {f"q{i}": {"d1": 1} for i in range(4)}
    cut = {query: [f"d{i}" for i in range(20)] for query in judged}
    whole = {query: ranking[: 5 * i + 3] for i, (query, ranking) in enumerate(cut.items())}
    found = scored(cut, judged, "R@20", "AP@100")
    assert found.notes == (
        "run: most of its rankings end at 20; if they were cut there, a k of 100 says too little",
    )
    assert scored(cut, judged, "R@20").notes == ()
    assert scored(whole, judged, "AP@100").notes == ()


def test_documents_that_are_judged_in_another_unicode_form_are_told():
    composed, apart = "garantía", unicodedata.normalize("NFD", "garantía")
    found = scored({"q": ["a", apart]}, {"q": {"a": 1, composed: 1}}, "R@5")
    assert found.measures.to_pylist()[0]["mean"] == 0.5
    assert len(found.notes) == 1
    assert "1 document ids are judged in another Unicode form" in found.notes[0]


def test_a_grade_above_the_top_of_the_scale_is_refused():
    with pytest.raises(BenchError, match="grades above the top of the scale, 2: 3, 5"):
        scored({"q": ["a"]}, {"q": {"a": 3, "b": 5, "c": 1}}, "ERR@5", max_grade=2)


def test_the_top_of_the_scale_is_that_of_err():
    row = one({"q": ["a"]}, {"q": {"a": 1}}, "ERR@5", max_grade=3)
    assert row["mean"] == (2**1 - 1) / 2**3


class TestTold:
    def scores(self, *names):
        judged = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1, "a": 0}, "q3": {"b": 0}}
        ranked = {"q1": {"a": 2.0, "b": 1.0, "x": 0.5}, "q2": {"a": 1.0, "c": 1.0}}
        return scored(ranked, judged, *(names or ("RR@2", "Rprec", "AP@2")))

    def test_json_has_a_record_a_line_and_null_where_there_is_no_value(self):
        found = json.loads(as_json(self.scores(), per_query=True))
        assert list(found) == ["measures", "per_query", "notes"]
        assert [row["measure"] for row in found["measures"]] == ["RR@2", "Rprec", "AP@2"]
        assert list(found["measures"][0])[:10] == [
            "run", "measure", "mean", "lo", "hi", "queries", "unanswered", "no_relevant", "judged_queries",
            "unjudged_queries",
        ]  # fmt: skip
        assert found["measures"][0]["lo"] is None
        left_out = [row["value"] for row in found["per_query"] if row["query_id"] == "q3"]
        assert left_out == [None, None, None]
        assert json.loads(as_json(self.scores(), per_query=False))["per_query"] == []

    def test_the_table_marks_what_ties_could_change_and_says_what_the_mark_means(self, capsys):
        assert told(self.scores()) == 0
        out = capsys.readouterr().out
        assert "1.0000~" in out
        assert "~ another order of equal scores could change it (--ties)" in out
        assert "?" not in out

    def test_csv_and_parquet_hold_the_same_columns(self, tmp_path, capsys):
        told(self.scores(), form="csv")
        header, *rows = capsys.readouterr().out.splitlines()
        told(self.scores(), form="parquet", output=tmp_path / "scores.parquet")
        table = pq.read_table(tmp_path / "scores.parquet")
        assert header.split(",") == table.column_names
        assert len(rows) == table.num_rows == 3
        told(self.scores(), form="csv", per_query=True, output=tmp_path / "scores.csv")
        assert capsys.readouterr().out == ""
        assert (
            (tmp_path / "scores.csv").read_text().splitlines()[0].startswith("run,query_id,measure,value,low")
        )

    def test_a_table_is_never_wider_than_it_may_be_and_has_every_measure(self):
        names = [f"P(rel={rel})@{k}" for rel in (1, 2, 3) for k in (1, 5, 10, 100)]
        found = self.scores(*(name.replace("(rel=1)", "") for name in names))
        made = list(tables(found, width=60))
        headers = [column.header for table in made[:-2] for column in getattr(table, "columns", [])]
        assert [name for name in headers if name.startswith("P")] == [n.replace("(rel=1)", "") for n in names]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--qrels q.txt", "--run FILE is missing"),
        ("--run r.txt", "--qrels FILE is missing"),
        ("--qrels q --run r --format parquet", "name its file by -o FILE"),
        ("--qrels q --run r --max-grade 0", "no number above 0"),
        ("--qrels q --run r --k 0", "no row of whole numbers|not a row of whole numbers"),
        ("outputs/x --measures P", "--measures has no meaning for the stored runs of outputs/x"),
        ("outputs/x --run r", "--run has no meaning for the stored runs"),
        ("--qrels q --run r --no-relevant one", "invalid choice: 'one'"),
        ("--qrels q --run r -o nowhere/scores.json", "there is no folder nowhere"),
        ("--qrels q --run r --per-querry", "did you mean '--per-query'"),
    ],
)
def test_a_request_that_makes_no_sense_says_why(words, said):
    with pytest.raises(BenchError, match=said):
        request(words.split())


def test_every_misspelt_measure_of_a_request_is_told():
    with pytest.raises(BenchError) as caught:
        request(["--qrels", "q", "--run", "r", "--measures", "nDGC,P@0,R"])
    assert "did you mean 'nDCG'?" in str(caught.value)
    assert "a cut-off is at least 1" in str(caught.value)


def test_a_request_has_the_four_lenses_at_four_cut_offs_unless_it_says_otherwise():
    plain = request(["--qrels", "q", "--run", "a", "b"])
    assert [measure.at(k) for measure, k in plain.rules.cells] == [
        f"{lens}@{k}" for lens in ("P", "R", "RR", "nDCG") for k in (1, 3, 5, 10)
    ]
    asked = request(
        ["--qrels", "q", "--run", "a", "--measures", "Rprec,AP@100,p", "--k", "5,2", "-o", "x.json"]
    )
    assert [measure.at(k or 0) for measure, k in asked.rules.cells] == ["Rprec", "AP@100", "P@2", "P@5"]
    assert asked.form == "json"


def test_equal_scores_at_the_end_of_the_stored_list_are_told_where_they_reach_into_k():
    ranked = {"q0": {"d0": 3.0, "d1": 1.0, "d2": 1.0}, "q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}
    judged = {"q0": {"d0": 1}, "q1": {"d1": 1}}
    found = scored(ranked, judged, "P@1", "P@2", "P@3", "Rprec")
    rows = {row["measure"]: row["open_ties"] for row in found.measures.to_pylist()}
    assert rows == {"P@1": 0, "P@2": 1, "P@3": 1, "Rprec": 1}
    assert any(
        note.startswith("run: 1 queries: equal scores at the end of the stored list") for note in found.notes
    )
    assert not any("equal scores at the end" in note for note in scored(ranked, judged, "P@1").notes)
