"""What a reranker learns from: answers and hard negatives out of the rankings of systems."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import make_qrels, make_run

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.training.examples import Mined
from bench.training.folds import HeldOut, holding_out

DOCS = [f"d{i:02}" for i in range(20)]


def collection(judged, *, groups=None, of_queries=None):
    """Documents d00 to d19, whose text is their id in capitals, and the judged questions."""
    docs = tuple(
        Doc(id=doc, text=doc.upper(), metadata={"company": groups[doc]} if groups else {}) for doc in DOCS
    )
    queries = tuple(
        Query(id=query, text=f"ask {query}", metadata={"company": of_queries[query]} if of_queries else {})
        for query in judged
    )
    return Collection(name="drawn", docs=docs, queries=queries, qrels=make_qrels(judged))


def mined(judged, *rankings, within=None, weights=(1.0, 0.4), **metadata):
    of = collection(judged, **metadata)
    runs = [(make_run(ranking, DOCS), weight) for ranking, weight in zip(rankings, weights, strict=False)]
    return Mined.by(runs, of, within=within)


def all_of(found):
    """Everything may be learned from and shown."""
    queries = found.collection.query_ids
    return HeldOut(queries=(), learned=queries, seen=frozenset(DOCS))


def test_candidates_stand_in_the_order_of_the_weighted_sum_of_z_scores():
    found = mined({"q": {"d00": 2}}, {"q": ["d03", "d01", "d00"]}, {"q": ["d00", "d02", "d01"]})
    # What a system did not find has its least.
    of_one, other = np.array([1, 0, -1, -1]) * 1.5**0.5, np.array([-1, -1, 1, 0]) * 1.5**0.5
    expected = dict(zip(["d03", "d01", "d00", "d02"], of_one + 0.4 * other, strict=True))
    assert found.agreement["q"] == pytest.approx(expected)
    assert found.candidates == {"q": ("d03", "d01", "d00", "d02")}


def test_every_document_of_a_list_has_its_agreement_and_the_least_where_no_system_found_it():
    found = mined({"q": {"d00": 2, "d09": 0}}, {"q": ["d03", "d00", "d05"]})
    (example,) = found.examples(all_of(found), negatives=9, seed=0)
    agreement = dict(zip(example.documents, example.agreement, strict=True))
    high = 1.5**0.5
    assert agreement == pytest.approx({"D00": 0, "D03": high, "D05": -high, "D09": -high})


def test_a_system_that_finds_nothing_or_gives_one_score_to_all_says_nothing():
    found = mined({"q": {"d00": 2}}, {"q": {"d03": 1.0, "d01": 1.0}}, {"q": []})
    assert found.agreement == {"q": {"d03": 0, "d01": 0}}


@given(
    st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0, 0.5, 1, 2]), max_size=8),
    st.lists(st.sampled_from(DOCS), unique=True),
    st.sets(st.sampled_from(DOCS), max_size=6),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_answers_stand_with_their_grades_and_negatives_are_never_relevant_nor_held_out(
    judged, ranking, unseen, negatives, seed
):
    judged = {**judged, "d00": 2}
    found = mined({"q": judged}, {"q": ranking})
    left = HeldOut(queries=(), learned=("q",), seen=frozenset(DOCS) - (unseen - {"d00"}))
    (example,) = found.examples(left, negatives=negatives, seed=seed)
    grades = dict(zip((text.lower() for text in example.documents), example.grades, strict=True))
    assert len(grades) == len(example.documents)
    assert example.query == "ask q"
    assert {doc: grade for doc, grade in grades.items() if grade} == {
        doc: grade for doc, grade in judged.items() if grade >= 1 and doc in left.seen
    }
    wrong = {doc for doc, grade in grades.items() if not grade}
    possible = {doc for doc in {*ranking, *judged} if judged.get(doc, 0) < 1 and doc in left.seen}
    assert wrong <= possible
    assert len(wrong) == min(negatives, len(possible))


def test_the_highest_candidates_are_the_likelier_negatives_and_judged_ones_that_nothing_found_come_last():
    judged = {"q": {"d00": 2, "d10": 0, "d11": 0.5}}
    found = mined(judged, {"q": [*DOCS[:10], "d11"]})
    drawn = Counter(
        document.lower()
        for seed in range(400)
        for example in found.examples(all_of(found), negatives=1, seed=seed)
        for document, grade in zip(example.documents, example.grades, strict=True)
        if not grade
    )
    weights = {doc: 1 / place for place, doc in enumerate([*DOCS[1:10], "d11", "d10"], start=1)}
    expected = {doc: 400 * weight / sum(weights.values()) for doc, weight in weights.items()}
    for doc, count in expected.items():
        assert abs(drawn[doc] - count) < 4 * count**0.5
    assert set(drawn) <= set(weights)


def test_the_seed_decides_order_and_negatives():
    judged = {f"q{i}": {f"d{i:02}": 2} for i in range(6)}
    found = mined(judged, dict.fromkeys(judged, DOCS))
    left = all_of(found)
    assert found.examples(left, negatives=3, seed=4) == found.examples(left, negatives=3, seed=4)
    one, other = (found.examples(left, negatives=3, seed=seed) for seed in (4, 5))
    assert [e.query for e in one] != [e.query for e in other]
    assert {e.query: e.documents for e in one} != {e.query: e.documents for e in other}
    assert {e.query for e in one} == {f"ask q{i}" for i in range(6)}


def test_negatives_come_from_the_questions_own_group():
    judged = {"q1": {"d00": 2}, "q2": {"d01": 2}}
    groups = {doc: "even" if int(doc[1:]) % 2 == 0 else "odd" for doc in DOCS}
    found = mined(
        judged,
        dict.fromkeys(judged, DOCS),
        within="company",
        groups=groups,
        of_queries={"q1": "even", "q2": "odd"},
    )
    assert found.candidates == {"q1": tuple(DOCS[::2]), "q2": tuple(DOCS[1::2])}
    for example in found.examples(all_of(found), negatives=5, seed=0):
        own = {"ask q1": "even", "ask q2": "odd"}[example.query]
        assert {groups[text.lower()] for text in example.documents} == {own}


def test_a_group_that_questions_or_documents_do_not_have_is_refused():
    judged = {"q1": {"d00": 2}, "q2": {"d01": 2}}
    with pytest.raises(BenchError, match=r"train\.within=company: no such metadata in the queries q1, q2"):
        mined(judged, within="company")
    with pytest.raises(BenchError, match=r"train\.within=company: no document has such metadata"):
        mined(judged, within="company", of_queries={"q1": "a", "q2": "b"})


def test_no_document_that_answers_a_question_held_out_is_shown():
    judged = {"q1": {"d00": 2, "d01": 1}, "q2": {"d01": 2, "d02": 2, "d03": 0}, "q3": {"d03": 2}}
    found = mined(judged, dict.fromkeys(judged, DOCS))
    examples = found.examples(holding_out(found.collection, ["q1"]), negatives=30, seed=1)
    shown = {e.query: set(e.documents) for e in examples}
    assert shown.keys() == {"ask q2", "ask q3"}
    assert not {"D00", "D01"} & set().union(*shown.values())
    assert {"D02", "D03"} <= shown["ask q2"]


def test_first_candidates_as_a_run_stand_in_their_order():
    judged = {"q1": {"d00": 2}, "q2": {"d01": 2}}
    found = mined(judged, {"q1": ["d05", "d00", "d07"], "q2": []})
    run = found.run(["q2", "q1"], depth=2)
    assert run.queries == ("q2", "q1")
    assert [[run.docs[row] for row in rows if row >= 0] for rows in run.rows.tolist()] == [[], ["d05", "d00"]]
