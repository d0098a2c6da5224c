"""Cases 6 to 11 and their kin in the files that anybody wrote: every form of judgements and of runs that is read."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.program import bench
from tests.conftest import ranking_of

from bench.errors import BenchError
from bench.reading import read_qrels, read_run

JUDGED = [("q1", "a", 2), ("q1", "b", 0), ("q2", "c", 1)]
HITS = [("q1", "b", 3.0), ("q1", "a", 2.0), ("q2", "c", 1.0)]


def as_text(value):
    return str(value) if value is not None else ""


def trec_qrels(path, rows):
    path.write_text("".join(f"{q} 0 {doc} {as_text(grade)}\n" for q, doc, grade in rows))


def beir_qrels(path, rows):
    lines = (f"{as_text(q)}\t{as_text(doc)}\t{as_text(grade)}\n" for q, doc, grade in rows)
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))


def trec_run(path, rows):
    path.write_text("".join(f"{q} Q0 {doc} {i} {score!r} tag\n" for i, (q, doc, score) in enumerate(rows, 1)))


def records(column):
    def write(path, rows):
        path.write_text(json.dumps([{"query_id": q, "doc_id": doc, column: value} for q, doc, value in rows]))

    return write


def by_line(column):
    def write(path, rows):
        lines = (json.dumps({"query_id": q, "doc_id": doc, column: value}) for q, doc, value in rows)
        path.write_text("".join(f"{line}\n" for line in lines))

    return write


def nested(path, rows):
    queries = dict.fromkeys(q for q, _, _ in rows)
    inner = (
        f'"{q}": {{{", ".join(f"{json.dumps(doc)}: {json.dumps(value)}" for one, doc, value in rows if one == q)}}}'
        for q in queries
    )
    path.write_text("{" + ", ".join(inner) + "}")


def parquet(column):
    def write(path, rows):
        columns = list(zip(*rows, strict=True))
        pq.write_table(pa.table(dict(zip(("query_id", "doc_id", column), columns, strict=True))), path)

    return write


def zipped(write):
    def zip_it(path, rows):
        write(path, rows)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return zip_it


QRELS = {
    "trec": trec_qrels,
    "beir": beir_qrels,
    "records": records("relevance"),
    "lines": by_line("relevance"),
    "nested": nested,
    "parquet": parquet("relevance"),
    "gzip": zipped(trec_qrels),
}
RUNS = {
    "trec": trec_run,
    "records": records("score"),
    "lines": by_line("score"),
    "nested": nested,
    "parquet": parquet("score"),
    "gzip": zipped(trec_run),
}
each_qrels = pytest.mark.parametrize("form", QRELS)
each_run = pytest.mark.parametrize("form", RUNS)
SPEAKS_OF_NOTHING = ("records", "lines", "parquet")
"""The forms that can say that an id is missing."""


def qrels_of(tmp_path, form, rows):
    QRELS[form](tmp_path / "qrels", rows)
    return read_qrels(tmp_path / "qrels")


def run_of(tmp_path, form, rows, **settings):
    RUNS[form](tmp_path / "run", rows)
    return read_run(tmp_path / "run", **settings)


# Case 6 and 7: order and digits were those of the file.


@each_run
def test_equal_scores_have_one_order_in_whatever_order_a_file_has_them(form, tmp_path):
    for order in itertools.permutations(["dev-plazo", "env-coste", "gar-dos"]):
        run = run_of(tmp_path, form, [("q", doc, 0.7) for doc in order]).run
        assert ranking_of(run, "q") == ["gar-dos", "env-coste", "dev-plazo"]


@each_run
def test_scores_keep_every_digit_that_a_file_gives(form, tmp_path):
    near = [("q", "a", 0.30000001192092896), ("q", "m", float(np.nextafter(0.3, 1))), ("q", "z", 0.3)]
    run = run_of(tmp_path, form, near[::-1]).run
    assert ranking_of(run, "q") == ["a", "m", "z"]
    assert run.scores[0].tolist() == [score for _, _, score in near]


@pytest.mark.parametrize("scores", [[0.7, 0.7, 0.7], [0.7, 0.6, 0.6]])
def test_a_figure_that_the_order_of_ties_decides_is_marked_and_explained(scores, in_folder):
    decides = len(set(scores)) == 1
    trec_qrels(Path("qrels"), [("q", "dev-plazo", 1), ("q", "env-coste", 0), ("q", "gar-dos", 0)])
    documents = ["dev-plazo", "env-coste", "gar-dos"]
    trec_run(Path("run"), [("q", doc, score) for doc, score in zip(documents, scores, strict=True)])

    answer = bench("evaluate", "--qrels", "qrels", "--run", "run", "--measures", "RR@3", on=())

    assert ("~ another order of equal scores" in answer.out) is decides
    assert ("0.3333~" in answer.out) is decides


# Case 8 and 9: what a run does not answer, and what nothing answers.


@pytest.mark.parametrize(
    ("switch", "mean", "queries"), [([], "0.5", 2), (["--no-relevant", "zero"], "0.3333", 3)]
)
@each_run
def test_unanswered_queries_count_zero_and_those_without_an_answer_as_is_asked(
    form, switch, mean, queries, in_folder
):
    trec_qrels(Path("qrels"), [("q1", "a", 1), ("q2", "b", 1), ("q3", "c", 0)])
    RUNS[form](Path("run"), [("q1", "a", 1.0), ("q3", "c", 1.0)])

    answer = bench(
        "evaluate",
        "--qrels",
        "qrels",
        "--run",
        "run",
        "--measures",
        "RR@5",
        "--format",
        "json",
        *switch,
        on=(),
    )

    assert answer.code == 0, answer.err
    (row,) = json.loads(answer.out)["measures"]
    assert round(row["mean"], 4) == float(mean)
    assert (row["queries"], row["unanswered"], row["no_relevant"]) == (queries, 1, 1)


# Case 10: a document stood twice.


@each_run
def test_a_document_that_stands_twice_is_refused_or_its_first_place_is_kept_and_counted(form, tmp_path):
    twice = [("q", "A", 3.0), ("q", "A", 2.0), ("q", "X", 1.0)]
    with pytest.raises(BenchError, match=r"A stands in the ranking of q [\s\S]*--duplicates keep-first"):
        run_of(tmp_path, form, twice)
    read = run_of(tmp_path, form, twice, duplicates="keep-first")
    assert ranking_of(read.run, "q") == ["A", "X"]
    assert read.run.scores[0].tolist() == [3.0, 1.0]
    assert any(note.startswith("1 hits left out") for note in read.notes)


@each_qrels
def test_a_pair_judged_twice_counts_once_and_two_grades_for_it_are_refused(form, tmp_path):
    read = qrels_of(tmp_path, form, [("q", "A", 1), ("q", "A", 1), ("q", "B", 0)])
    assert read.qrels.by_query == {"q": {"A": 1.0, "B": 0.0}}
    assert any("repeated with the same grade" in note for note in read.notes)
    with pytest.raises(BenchError, match="q / A has grade 2 here and"):
        qrels_of(tmp_path, form, [("q", "A", 1), ("q", "A", 2)])


# Case 11: the document that has the id of its query.


@each_run
def test_a_document_named_as_its_query_stays_in_its_ranking(form, tmp_path):
    run = run_of(tmp_path, form, [("12", "12", 2.0), ("12", "x", 1.0)]).run
    assert ranking_of(run, "12") == ["12", "x"]


# Grades were truncated.


@each_qrels
@pytest.mark.parametrize("grade", [0.9, 0.5, -0.25, 1e-9, 1 / 3, 2])
def test_a_grade_is_what_the_file_says_to_its_last_digit(form, grade, tmp_path):
    read = qrels_of(tmp_path, form, [("q", "a", grade), ("q", "b", float(1))])
    assert read.qrels.by_query["q"]["a"] == grade


@each_qrels
@pytest.mark.parametrize("grade", [math.nan, math.inf])
def test_a_grade_that_is_no_number_is_refused(form, grade, tmp_path):
    with pytest.raises(BenchError, match=r"(?i)(nan|inf\w*)'? is no grade"):
        qrels_of(tmp_path, form, [("q", "a", grade), ("q", "b", 1.0)])


# Ids that are missing, or numbers on one side and text on the other.


@pytest.mark.parametrize("form", SPEAKS_OF_NOTHING)
@pytest.mark.parametrize("lacking", [(None, "a"), ("q", None), ("", "a"), ("q", "")])
def test_what_has_no_id_is_refused_on_both_sides(form, lacking, tmp_path):
    query, doc = lacking
    what = "query id" if query in (None, "") else "document id"
    for read, rows in ((qrels_of, JUDGED), (run_of, HITS)):
        with pytest.raises(BenchError, match=what):
            read(tmp_path, form, [*rows, (query, doc, 1)])


@pytest.mark.parametrize("form", SPEAKS_OF_NOTHING)
def test_numbers_and_their_texts_are_one_id(form, tmp_path):
    numbers = run_of(tmp_path, form, [(1, 12, 2.0), (1, 13, 1.0)]).run
    texts = run_of(tmp_path, form, [("1", "12", 2.0), ("1", "13", 1.0)]).run
    assert numbers.queries == texts.queries == ("1",)
    assert ranking_of(numbers, "1") == ranking_of(texts, "1") == ["12", "13"]
    judged = qrels_of(tmp_path, form, [(1, 12, 2)]).qrels
    assert judged.by_query == {"1": {"12": 2.0}}


def test_a_run_of_other_queries_than_the_judged_is_refused_and_both_are_shown(in_folder):
    trec_qrels(Path("qrels"), [("q1", "a", 1)])
    trec_run(Path("run"), [("1", "a", 1.0)])

    answer = bench("evaluate", "--qrels", "qrels", "--run", "run", on=())

    assert answer.code == 2
    assert "no query in common: it answers 1; judged are q1" in answer.err


def test_a_run_of_which_no_document_is_judged_is_said_to_be_strange(in_folder):
    trec_qrels(Path("qrels"), [("q1", "12", 1)])
    trec_run(Path("run"), [("q1", "doc-12", 1.0)])

    answer = bench("evaluate", "--qrels", "qrels", "--run", "run", on=())

    assert answer.code == 0
    assert "no document that it returned is judged; are its ids those of the judgements?" in answer.err


# Scores that are NaN.


@each_run
def test_a_score_that_is_nan_is_refused_and_infinite_ones_stand_at_the_ends(form, tmp_path):
    with pytest.raises(BenchError, match=r"(?i)nan'? is no score"):
        run_of(tmp_path, form, [("q", "a", math.nan), ("q", "b", 1.0)])
    run = run_of(tmp_path, form, [("q", "a", -math.inf), ("q", "b", 0.0), ("q", "c", math.inf)]).run
    assert ranking_of(run, "q") == ["c", "b", "a"]
    assert run.scores[0].tolist() == [math.inf, 0.0, -math.inf]


# Values above 1 where a grade lies above the scale.


def test_a_grade_above_the_scale_that_is_asked_for_is_refused(in_folder):
    trec_qrels(Path("qrels"), JUDGED)
    trec_run(Path("run"), HITS)

    answer = bench("evaluate", "--qrels", "qrels", "--run", "run", "--max-grade", "1", on=())

    assert answer.code == 2
    assert "grades above the top of the scale, 1: 2" in answer.err
