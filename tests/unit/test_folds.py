"""Questions parted and held out: nothing that a question is judged on has been taught."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.conftest import make_qrels

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.training.folds import holding_out, parts, relevant_documents

NEEDS = st.integers(0, 7)


@st.composite
def collections(draw):
    """Some needs of a few questions each; documents are shared, some texts stand twice, some judge an unknown one."""
    asked = draw(st.lists(st.tuples(NEEDS, st.integers(0, 30)), min_size=1, max_size=24))
    queries = tuple(
        Query(id=f"q{i:02}", text=f"words {words}", metadata={"need": f"n{need}"})
        for i, (need, words) in enumerate(asked)
    )
    docs = tuple(Doc(id=f"d{i:02}", text=f"text {i % 13}") for i in range(16))
    grades = st.dictionaries(st.integers(0, 17), st.sampled_from([0, 0.5, 1, 2]), max_size=3)
    judged = {query.id: {f"d{doc:02}": grade for doc, grade in draw(grades).items()} for query in queries}
    return Collection(name="drawn", docs=docs, queries=queries, qrels=make_qrels(judged))


def of(needs, judged):
    """A collection of questions by need, judged `{query: {document: grade}}`."""
    docs = tuple(Doc(id=doc, text=doc) for doc in sorted({doc for found in judged.values() for doc in found}))
    queries = tuple(Query(id=q, text=q, metadata={"need": need}) for q, need in needs.items())
    return Collection(name="small", docs=docs, queries=queries, qrels=make_qrels(judged))


@given(collections(), st.integers(2, 5), st.integers(0, 9))
def test_every_question_with_an_answer_is_in_one_part_and_no_need_is_split(collection, count, seed):
    try:
        found = parts(collection, count, seed=seed)
    except BenchError as error:
        assert "too few" in str(error)
        assume(False)
    assert len(found) == count
    assert all(found)
    assert sorted(query for part in found for query in part) == sorted(relevant_documents(collection))
    place = {query: i for i, part in enumerate(found) for query in part}
    for name in ("need", "text"):
        places: dict[str, set[int]] = {}
        for query in collection.queries:
            if query.id in place:
                places.setdefault(getattr(query, name), set()).add(place[query.id])
        assert all(len(of_one) == 1 for of_one in places.values())


@given(collections(), st.data())
def test_nothing_of_what_is_held_out_is_learned_from(collection, data):
    relevant, queries = relevant_documents(collection), {query.id: query for query in collection.queries}
    texts = {doc.id: doc.contents for doc in collection.docs}
    closed = data.draw(st.sets(st.sampled_from(sorted(queries)), min_size=1))
    try:
        left = holding_out(collection, sorted(closed)[:2], sorted(closed)[2:])
    except BenchError as error:
        assert "no question is left to learn from" in str(error)
        return
    assert set(left.queries) == closed
    answers = {texts[doc] for query in closed for doc in relevant.get(query, ()) if doc in texts}
    assert not answers & {texts[doc] for doc in left.seen}
    for name in ("need", "text"):
        of_held_out = {getattr(queries[query], name) for query in closed}
        assert not of_held_out & {getattr(queries[query], name) for query in left.learned}
    # What is left out has a reason.
    assert {text for text in texts.values() if text not in answers} == {texts[doc] for doc in left.seen}
    assert all(relevant[query] & left.seen for query in left.learned)


@given(collections(), st.integers(0, 9))
def test_the_parts_depend_on_the_seed_and_not_on_the_order_of_the_files(collection, seed):
    turned = Collection(
        name="turned",
        docs=collection.docs[::-1],
        queries=collection.queries[::-1],
        qrels=collection.qrels,
    )
    try:
        assert parts(collection, 3, seed=seed) == parts(turned, 3, seed=seed)
    except BenchError:
        assume(False)


def test_other_seeds_part_differently():
    wide = of({f"q{i}": f"n{i}" for i in range(30)}, {f"q{i}": {f"d{i}": 2} for i in range(30)})
    assert len({parts(wide, 3, seed=seed) for seed in range(5)}) == 5
    assert [len(part) for part in parts(wide, 3, seed=0)] == [10, 10, 10]


def test_needs_that_share_an_answer_stand_together_where_that_can_be():
    pairs = of({f"q{i}": f"n{i}" for i in range(20)}, {f"q{i}": {f"d{i // 2}": 2} for i in range(20)})
    for seed in range(5):
        for part in parts(pairs, 5, seed=seed):
            assert len({int(query[1:]) // 2 for query in part}) == 2


def test_too_few_needs_are_refused_with_their_number():
    few = of({"q1": "a", "q2": "a", "q3": "b", "q4": "c"}, {"q1": {"d": 1}, "q2": {"e": 2}, "q3": {"d": 1}})
    with pytest.raises(BenchError, match="small: 2 needs have a relevant document, too few for 3 parts"):
        parts(few, 3, seed=0)


def test_where_one_document_answers_all_nothing_is_left_to_learn_from():
    narrow = of({f"q{i}": f"n{i}" for i in range(4)}, {f"q{i}": {"d": 2} for i in range(4)})
    with pytest.raises(BenchError, match="small: no question is left to learn from once 1 are held out"):
        holding_out(narrow, ["q1"])


def test_a_question_whose_answer_the_collection_does_not_have_teaches_nothing():
    lacking = of({"q1": "a", "q2": "b", "q3": "c"}, {"q1": {"d": 2}, "q2": {"e": 2}, "q3": {"f": 2}})
    docs = tuple(doc for doc in lacking.docs if doc.id != "e")
    lacking = Collection(name="lacking", docs=docs, queries=lacking.queries, qrels=lacking.qrels)
    assert holding_out(lacking, ["q1"]).learned == ("q3",)
