"""The text that the reranker learned from: whole, and no near copy of what it is measured on."""

import json
import re
from pathlib import Path

import pytest

from bench.loading import BeirFolder

DATA = Path(__file__).parents[2] / "data"
RUN = 5  # words
MOST_ALIKE = 0.1


@pytest.fixture(scope="module")
def training():
    return BeirFolder(path=str(DATA / "training"), name="training", split="train", max_grade=2).load()


def texts(name):
    lines = [
        json.loads(line)
        for file in ("corpus.jsonl", "queries.jsonl")
        for line in (DATA / name / file).read_text().splitlines()
    ]
    return {line["_id"]: f"{line.get('title', '')} {line['text']}".strip() for line in lines}


def runs_of_words(text):
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


@pytest.mark.parametrize("measured", ["aurora", "boreal"])
def test_no_text_is_nearly_one_that_is_measured_on(measured):
    others = {name: runs_of_words(text) for name, text in texts(measured).items()}
    where = {}
    for name, runs in others.items():
        for run in runs:
            where.setdefault(run, set()).add(name)
    for name, text in texts("training").items():
        runs = runs_of_words(text)
        for other in set().union(*(where.get(run, set()) for run in runs)):
            shared = len(runs & others[other]) / len(runs | others[other])
            assert shared < MOST_ALIKE, f"{name} and {other} of {measured}"


@pytest.mark.parametrize("measured", ["aurora", "boreal"])
def test_no_short_text_is_one_that_is_measured_on(measured):
    def plain(text):
        return " ".join(re.findall(r"\w+", text.lower()))

    assert not {plain(text) for text in texts("training").values()} & {
        plain(text) for text in texts(measured).values()
    }


def test_it_is_as_large_as_its_card_says(training):
    card = (DATA / "training" / "README.md").read_text()
    assert f"{len(training.docs)} chunks of" in card
    assert f"{len(training.queries)} questions. Form" in card
    assert len(training.docs) >= 600
    assert len(training.queries) >= 2400
    assert len({doc.metadata["company"] for doc in training.docs}) >= 10


def test_every_question_but_the_unanswerable_has_an_answer_of_its_own_organisation(training):
    company = {doc.id: doc.metadata["company"] for doc in training.docs}
    asked = {query.id: query for query in training.queries}
    qrels = training.qrels
    answered = set()
    for query, doc, grade in zip(qrels.query_ids, qrels.doc_ids, qrels.grades, strict=True):
        assert company[doc] == asked[query].metadata["company"]
        if grade == 2:
            answered.add(query)
    without = {query.id for query in training.queries} - answered
    assert without == {q.id for q in training.queries if q.metadata["type"] == "unanswerable"}


def test_every_chunk_answers_something(training):
    qrels = training.qrels
    answering = {doc for doc, grade in zip(qrels.doc_ids, qrels.grades, strict=True) if grade == 2}
    assert {doc.id for doc in training.docs} == answering
