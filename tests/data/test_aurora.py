"""Aurora is what its data card says it is."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tests.conftest import make_run

from bench.evaluate import evaluate
from bench.judgements import qrels_of, read_log
from bench.loading import BeirFolder
from bench.metrics import MEASURES
from bench.text.analyzer import Analyzer

AURORA = Path(__file__).parents[2] / "data" / "aurora"
TYPES = ("direct", "parts", "paraphrase", "misspelt", "regional", "code", "long", "english")


@pytest.fixture(scope="module")
def aurora():
    return BeirFolder(path=str(AURORA), language="spanish").load()


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def answers(aurora, query_id: str) -> list[str]:
    return [doc for doc, grade in aurora.qrels.by_query[query_id].items() if grade == 2]


def test_it_loads_without_a_complaint(aurora):
    assert aurora.notes == ()


def test_there_are_enough_chunks_of_enough_documents_of_the_right_length(aurora):
    lengths = [len(doc.text.split()) for doc in aurora.docs]
    assert len(aurora.docs) >= 240
    assert len({doc.metadata["document"] for doc in aurora.docs}) >= 40
    assert min(lengths) >= 25 and max(lengths) <= 130


def test_the_chunks_that_the_course_names_exist(aurora):
    named = {
        "devoluciones-base", "devoluciones-excepciones", "envios-peninsula", "envios-canarias-plazos",
        "envios-canarias-costes", "envios-internacionales", "garantia-fabricante", "horarios-atencion",
    }  # fmt: skip
    assert named <= set(aurora.doc_ids)


def test_every_chunk_says_its_document_topic_family_and_region(aurora):
    for doc in aurora.docs:
        assert set(doc.metadata) == {"document", "topic", "family", "region"}, doc.id
        assert re.fullmatch(r"[a-z0-9-]+", doc.id)
        assert doc.title


def test_no_two_chunks_say_the_same(aurora):
    assert len({doc.text for doc in aurora.docs}) == len(aurora.docs)


def test_chunks_were_written_and_not_filled_into_a_template(aurora):
    shared: Counter[tuple[str, str]] = Counter()
    places = defaultdict(set)
    for doc in aurora.docs:
        tokens = words(doc.text)
        for i in range(len(tokens) - 4):
            places[tuple(tokens[i : i + 5])].add(doc.id)
    for ids in places.values():
        shared.update(itertools.combinations(sorted(ids), 2))
    assert max(shared.values(), default=0) <= 5


def test_there_are_enough_queries_of_every_type(aurora):
    by_type = Counter(query.metadata["type"] for query in aurora.queries)
    answerable = [query for query in aurora.queries if query.metadata["type"] != "unanswerable"]
    assert all(by_type[kind] >= 30 for kind in TYPES)
    assert len(answerable) >= 300
    assert len({query.need for query in answerable}) >= 150
    assert by_type["unanswerable"] >= 60


def test_the_questions_of_the_course_are_among_them(aurora):
    texts = {query.text for query in aurora.queries}
    assert {
        "¿puedo devolver unas zapatillas usadas?",
        "devoluciones zapatillas",
        "¿cuánto tarda un envío a Canarias?",
    } <= texts


def test_no_two_queries_say_the_same_and_none_stands_in_a_chunk(aurora):
    texts = [" ".join(words(query.text)) for query in aurora.queries]
    assert len(set(texts)) == len(texts)
    chunks = [" ".join(words(doc.contents)) for doc in aurora.docs]
    # Of the shortest keyword queries, a few words in a row are bound to stand somewhere.
    assert not [text for text in texts if len(text.split()) > 3 and any(text in chunk for chunk in chunks)]


def test_the_reserve_is_apart(aurora):
    reserve = [json.loads(line) for line in (AURORA / "reserve.jsonl").read_text().splitlines()]
    assert not {query["_id"] for query in reserve} & set(aurora.query_ids)
    assert not {query["text"] for query in reserve} & {query.text for query in aurora.queries}


def test_a_paraphrase_shares_no_content_word_with_what_its_author_meant_as_its_answer(aurora):
    analyzer = Analyzer(language="spanish")
    log = read_log(AURORA / "judgements.jsonl")
    meant = qrels_of(log, assessors=["author"])
    by_id = {doc.id: doc for doc in aurora.docs}
    for query in aurora.queries:
        if query.metadata["type"] == "paraphrase":
            asked = set(analyzer.analyze([query.text])[0])
            for doc, grade in meant.by_query[query.id].items():
                if grade == 2:
                    assert not asked & set(analyzer.analyze([by_id[doc].contents])[0]), (query.id, doc)


def test_the_qrels_are_what_the_log_says(aurora):
    derived = qrels_of(read_log(AURORA / "judgements.jsonl"), assessors=["author", "pass-1"])
    assert derived.of_queries(aurora.query_ids).digest == aurora.qrels.digest


def test_grades_are_0_1_and_2_and_every_query_has_been_judged(aurora):
    assert set(aurora.qrels.grades.tolist()) == {0.0, 1.0, 2.0}
    assert set(aurora.qrels.judged_queries) == set(aurora.query_ids)


def test_every_answerable_query_has_an_answer_for_each_of_its_parts(aurora):
    for query in aurora.queries:
        if query.metadata["type"] == "unanswerable":
            assert not answers(aurora, query.id)
        else:
            assert answers(aurora, query.id), query.id
    for query_id, parts in aurora.qrels.parts.items():
        assert len(parts) > 1
        assert {doc for docs in parts.values() for doc in docs} == set(answers(aurora, query_id))
    asks_parts = {query.id for query in aurora.queries if query.metadata["type"] == "parts"}
    assert asks_parts <= set(aurora.qrels.parts)


def test_at_least_40_queries_have_nothing_that_helps(aurora):
    helped = {q for q, g in zip(aurora.qrels.query_ids, aurora.qrels.grades, strict=True) if g >= 1}
    assert len(set(aurora.query_ids) - helped) >= 40


def test_an_oracle_reaches_1(aurora):
    best = {
        query: sorted(grades, key=grades.get, reverse=True) for query, grades in aurora.qrels.by_query.items()
    }
    found = evaluate(
        make_run(best, docs=list(aurora.doc_ids)), aurora.qrels, ks=[5], measures=[MEASURES["ndcg"]]
    )
    assert found.mean("ndcg", 5) == pytest.approx(1.0)


def test_the_data_card_counts_what_there_is(aurora):
    card = (AURORA / "README.md").read_text()
    log = read_log(AURORA / "judgements.jsonl")
    grades = Counter(aurora.qrels.grades.tolist())
    by_type = Counter(query.metadata["type"] for query in aurora.queries)
    for claim in (
        f"{len(aurora.docs)} chunks",
        f"{len({doc.metadata['document'] for doc in aurora.docs})} documents",
        f"{len(aurora.queries)} queries",
        f"{len(log)} rows",
        f"{len(aurora.qrels)} pairs",
        *(f"| {int(grade)} | {count} |" for grade, count in grades.items()),
        *(f"| {kind} | {count} |" for kind, count in by_type.items()),
    ):
        assert claim in card, claim
