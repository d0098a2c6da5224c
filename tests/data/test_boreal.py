"""Boreal is what its data card says it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.judgements import qrels_of, read_log
from bench.loading import BeirFolder

BOREAL = Path(__file__).parents[2] / "data" / "boreal"


@pytest.fixture(scope="module")
def boreal():
    return BeirFolder(path=str(BOREAL), language="spanish").load()


def test_it_is_large_enough_and_loads_without_a_complaint(boreal):
    answerable = [query for query in boreal.queries if query.metadata["type"] != "unanswerable"]
    lengths = [len(doc.text.split()) for doc in boreal.docs]
    assert boreal.notes == ()
    assert len(boreal.docs) >= 80
    assert len(answerable) >= 120
    assert len({query.need for query in answerable}) >= 60
    assert len(boreal.queries) - len(answerable) >= 20
    assert min(lengths) >= 25 and max(lengths) <= 130


def test_the_qrels_are_what_the_log_says(boreal):
    derived = qrels_of(read_log(BOREAL / "judgements.jsonl"), assessors=["author", "pass-1"])
    assert derived.digest == boreal.qrels.digest


def test_answerable_queries_have_an_answer_and_unanswerable_ones_none(boreal):
    for query in boreal.queries:
        best = max(boreal.qrels.by_query[query.id].values())
        assert best < 2 if query.metadata["type"] == "unanswerable" else best == 2, query.id


def test_it_shares_no_chunk_and_no_query_with_aurora(boreal):
    aurora = BeirFolder(path=str(BOREAL.parent / "aurora"), language="spanish").load()
    assert not {doc.text for doc in boreal.docs} & {doc.text for doc in aurora.docs}
    assert not {query.text for query in boreal.queries} & {query.text for query in aurora.queries}


def test_the_data_card_counts_what_there_is(boreal):
    card = (BOREAL / "README.md").read_text()
    grades = Counter(boreal.qrels.grades.tolist())
    by_type = Counter(query.metadata["type"] for query in boreal.queries)
    for claim in (
        f"{len(boreal.docs)} chunks of {len({doc.metadata['document'] for doc in boreal.docs})} documents",
        f"{len(boreal.queries)} queries, {len(boreal.qrels)} pairs",
        f"{len(read_log(BOREAL / 'judgements.jsonl'))} rows",
        *(f"| {int(grade)} | {count} |" for grade, count in grades.items()),
        *(f"| {kind} | {count} |" for kind, count in by_type.items()),
    ):
        assert claim in card, claim
