"""Judgements are in order and each pair stands there once, whatever they were made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import BenchError
from bench.qrels import Qrels

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


@pytest.mark.parametrize("docs", [("a", "a"), ("b", "a", "b")])
def test_a_pair_that_is_judged_twice_is_refused(docs):
    with pytest.raises(BenchError, match=f"pairs judged twice: q / {docs[0]}"):
        Qrels(("q",) * len(docs), docs, np.zeros(len(docs)))


@pytest.mark.parametrize("grade", [np.nan, np.inf, -np.inf])
def test_a_grade_that_is_no_finite_number_is_refused(grade):
    with pytest.raises(BenchError, match="grades that are no number: q / b"):
        Qrels(("q", "q"), ("a", "b"), np.array([1.0, grade]))


def test_columns_of_different_lengths_are_a_mistake():
    with pytest.raises(ValueError, match="1 queries, 1 documents and 2 grades"):
        Qrels(("q",), ("a",), np.zeros(2))


def test_grades_are_copied():
    grades = np.array([1.0])
    qrels = Qrels(("q",), ("a",), grades)
    grades[0] = 2.0
    assert qrels.by_query == {"q": {"a": 1.0}}
