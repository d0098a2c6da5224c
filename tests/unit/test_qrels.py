"""Judgements are in order and each pair stands there once, whatever they were made from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import make_run

from bench.errors import BenchError
from bench.ids import Ids
from bench.join import join
from bench.metrics import MEASURES
from bench.qrels import Qrels, open_parts


def column(ids):
    return pa.array(ids, pa.string()).dictionary_encode()


pairs = st.lists(
    st.tuples(st.text("aé😀", max_size=2), st.text("aé\uffff", max_size=2)), unique=True, max_size=12
)


@given(pairs, st.randoms(use_true_random=False))
def test_they_are_by_query_and_document_and_keep_their_grades_whatever_the_order(judged, random):
    shuffled = random.sample(judged, len(judged))
    grade = {pair: float(i) for i, pair in enumerate(judged)}
    for order in (shuffled, sorted(judged)):
        queries, docs = (tuple(column) for column in zip(*order, strict=True)) if order else ((), ())
        qrels = Qrels(queries, docs, np.array([grade[pair] for pair in order]))
        found = list(zip(qrels.query_ids, qrels.doc_ids, strict=True))
        assert found == sorted(judged)
        assert qrels.grades.tolist() == [grade[pair] for pair in found]


@given(pairs)
def test_they_are_the_same_from_columns_as_from_texts(judged):
    queries, docs = (tuple(column) for column in zip(*judged, strict=True)) if judged else ((), ())
    grades = np.arange(len(judged), dtype=float)
    made, read = (
        Qrels(queries, docs, grades),
        Qrels.of_columns(*(column(ids) for ids in (queries, docs)), grades),
    )
    assert read.digest == made.digest
    assert read.judged_queries == made.judged_queries
    assert read.query_codes.tolist() == made.query_codes.tolist()
    assert read.doc_array.equals(made.doc_array)


@pytest.mark.parametrize("docs", [("a", "a"), ("b", "a", "b")])
def test_a_pair_that_is_judged_twice_is_refused(docs):
    with pytest.raises(BenchError, match=f"pairs judged twice: q / {docs[0]}"):
        Qrels(("q",) * len(docs), docs, np.zeros(len(docs)))


@pytest.mark.parametrize("grade", [np.nan, np.inf, -np.inf])
def test_a_grade_that_is_no_finite_number_is_refused(grade):
    with pytest.raises(BenchError, match="grades that are no number: q / b"):
        Qrels(("q", "q"), ("a", "b"), np.array([1.0, grade]))


def test_rows_are_those_of_the_vocabulary_that_is_asked_whichever_was_asked_before():
    qrels = Qrels(("p", "q", "q"), ("b", "a", "b"), np.ones(3))
    one, other = Ids("abc"), Ids("xb")
    for docs in (one, one, other, one):
        assert qrels.rows_in(docs).tolist() == docs.rows(["b", "a", "b"]).tolist()


def test_columns_of_different_lengths_are_a_mistake():
    with pytest.raises(ValueError, match="1 queries, 1 documents and 2 grades"):
        Qrels(("q",), ("a",), np.zeros(2))


def test_grades_are_copied():
    grades = np.array([1.0])
    qrels = Qrels(("q",), ("a",), grades)
    grades[0] = 2.0
    assert qrels.by_query == {"q": {"a": 1.0}}


class TestPartsThatNothingCovers:
    qrels = Qrels.of(
        {"p": {"d1": 2, "d2": 2}, "q": {"d1": 2}}, parts={"p": {"a": ["d1"], "b": []}, "q": {"a": ["d1"]}}
    )

    def test_stay_parts_of_the_answer(self):
        run = make_run({"p": {"d1": 2.0, "d2": 1.0}, "q": {"d1": 1.0}})
        gains = join(run, self.qrels)
        assert MEASURES["complete"](gains, 2).tolist() == [0, 1]
        assert MEASURES["part_recall"](gains, 2).tolist() == [0.5, 1]

    def test_are_told(self):
        assert self.qrels.never_complete == ("p",)
        (note,) = open_parts(self.qrels)
        assert note.startswith("1 queries have a part of the answer that no judged document covers")
        assert not list(open_parts(self.qrels.of_queries("q")))

    def test_may_be_as_many_as_can_be_told_apart(self):
        listed = {f"{part:02}": ["d1"] if part else [] for part in range(64)}
        qrels = Qrels.of({"q": {"d1": 2}}, parts={"q": listed})
        assert qrels.listed_parts.tolist() == [2**64 - 1]
        assert qrels.never_complete == ("q",)
