"""Cases 16 to 18 and their kin: weights of words, documents that share none, and Spanish as it is typed."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pytest
from tests.cases.everything import (
    collection_of,
    each_engine,
    each_formula,
    each_fusion,
    fusion_of,
    hybrid_of,
    made,
    options_of,
    written,
)
from tests.cli.program import bench, grid, on
from tests.conftest import ranking_of

from bench.checks import findings
from bench.embedders.hashing import Hashing
from bench.evaluate import evaluate
from bench.grid import MEASURE_COLUMNS, counts_own
from bench.metrics import MEASURES
from bench.rerankers.overlap import Overlap
from bench.retrievers.bm25 import BM25
from bench.retrievers.dense import Dense
from bench.stores.exact import Exact
from bench.text.analyzer import Analyzer

PLAIN, SPANISH = Analyzer(language="plain"), Analyzer(language="spanish")
IN_HALF = {"dev": "devolución gratis", "env": "envío gratis"}
IN_ALL = {"d1": "plazo devolución plazo", "d2": "plazo envío", "d3": "plazo coste"}
PARTS = ("retriever", "reranker")
UPSIDE_DOWN = ("rank_bm25", "okapi")
"""As its package has it, and said of it: a word in more than half of the documents counts against them."""


def found(texts, query, *, analyzer=PLAIN, **settings):
    """`{document: score}`, best first."""
    of = collection_of(texts, {"q": query})
    run = BM25(analyzer=analyzer, **settings).index(of.docs).search(of.queries, 10)
    return dict(zip(ranking_of(run, "q"), run.scores[0].tolist(), strict=False))


# Case 16: a word in half of the documents weighed nothing, and one in all of them put the best match last.


def test_a_word_in_half_or_in_all_of_the_documents_has_a_weight_above_zero():
    k1 = 1.5
    (score,) = found(IN_HALF, "devolución").values()
    assert score * (1 + k1) == pytest.approx(0.6931, abs=5e-5)
    scores = found(IN_ALL, "plazo")
    assert next(iter(scores)) == "d1"
    longer = k1 * (0.25 + 0.75 * 3 / (7 / 3))
    assert scores["d1"] * (2 + longer) / 2 == pytest.approx(0.1335, abs=5e-5)


def test_the_other_engine_is_as_its_package_has_it():
    assert found(IN_HALF, "devolución", engine="rank_bm25") == {"dev": 0.0}
    scores = found(IN_ALL, "plazo", engine="rank_bm25")
    assert list(scores) == ["d3", "d2", "d1"]
    assert list(scores.values()) == pytest.approx([-0.0276, -0.0276, -0.0338], abs=5e-5)
    assert "so that the best match comes last" in " ".join(str(BM25.__doc__).split())


@each_formula
def test_no_word_counts_against_a_document_that_has_it(engine, method):
    if (engine, method) == UPSIDE_DOWN:
        return
    for holders, size in itertools.product(range(1, 7), range(1, 7)):
        texts = {
            f"d{i}": "plazo y coste" if i < holders else "otro y coste" for i in range(max(size, holders))
        }
        hits = found(texts, "plazo", engine=engine, method=method)
        assert len(hits) == holders
        assert min(hits.values()) >= 0
        if (engine, method) == ("bm25s", "lucene"):
            assert min(hits.values()) > 0


@each_formula
def test_saying_a_word_more_often_never_puts_a_document_behind_an_equal_one(engine, method):
    if (engine, method) == UPSIDE_DOWN:
        return
    for others in range(4):
        texts = {
            "a": "plazo plazo plazo",
            "b": "plazo coste casa",
            **{f"x{i}": "otra cosa más" for i in range(others)},
        }
        scores = found(texts, "plazo", engine=engine, method=method)
        assert scores["a"] >= scores["b"]


# Case 17: documents of score 0 were hits, and a query of unknown words found whatever stood first.


@each_formula
def test_a_query_of_unknown_words_finds_nothing_and_feeds_nothing_into_a_fusion(engine, method):
    of = collection_of(IN_ALL, {"q": "garaje", "r": "plazo"}, {"q": {"d1": 1}, "r": {"d1": 1}})
    words = BM25(analyzer=PLAIN, engine=engine, method=method).index(of.docs).search(of.queries, 10)
    meaning = Dense(embedder=Hashing(), store=Exact()).index(of.docs).search(of.queries, 10)
    assert words.returned.tolist() == [0, 3]
    scored = evaluate(words, of.qrels, ks=[5], measures=[MEASURES["mrr"]])
    assert scored.values["mrr", 5][0] == 0.0
    assert scored.unanswered.tolist() == [True, False]
    for option in options_of("fusion"):
        fused = fusion_of(option).fuse(
            {"words": words, "meaning": meaning}, {"words": 1.0, "meaning": 1.0}, depth=10
        )
        assert ranking_of(fused, "q") == ranking_of(meaning, "q")
        assert (fused.stages["words"].ranks[0] == 0).all()


@each_formula
def test_a_real_match_of_weight_zero_is_still_a_hit(engine, method):
    assert set(found(IN_HALF, "devolución", engine=engine, method=method)) == {"dev"}
    assert set(found(IN_HALF, "gratis", engine=engine, method=method)) == {"dev", "env"}
    assert set(found({**IN_HALF, "empty": "", "marks": "¿?"}, "gratis", engine=engine, method=method)) == {
        "dev",
        "env",
    }


@each_fusion
def test_a_hybrid_of_unknown_words_ranks_as_meaning_alone(option):
    of = collection_of(IN_ALL, {"q": "garaje"})
    run = hybrid_of(option).index(of.docs).search(of.queries, 10)
    assert (run.stages["bm25"].ranks == 0).all()
    if "second" not in run.stages:
        dense = Dense(embedder=Hashing(), store=Exact()).index(of.docs).search(of.queries, 10)
        assert ranking_of(run, "q") == ranking_of(dense, "q")


def test_a_query_that_finds_nothing_is_scored_zero_and_counted_under_every_measure(in_folder):
    judged = {"q": {"d1": 1}, "r": {"d1": 1}}
    folder = written(in_folder / "shop", IN_ALL, {"q": "garaje", "r": "plazo"}, judged)

    answer = bench("retriever=bm25", "k=5", on=on(folder))

    assert answer.code == 0, answer.err
    (cell,) = grid().to_dict("records")
    assert (cell["unanswered"], cell["recall"], cell["mrr"]) == (1, 0.5, 0.5)
    assert (
        {cell[f"{name}_queries"] for name in MEASURE_COLUMNS if counts_own(name)} == {2} == {cell["queries"]}
    )


# Case 18: the tokenizer cut Spanish words at their accents, or told forms of one word apart.

FORMS = ("garantía", "garantías", "garantia", "garantias")


def test_all_forms_of_a_word_share_a_term_which_snowball_alone_would_part():
    assert SPANISH.analyze([" ".join(FORMS)]) == [["garanti"] * 4]
    unfolded = Analyzer(language="spanish", fold=False).analyze([" ".join(FORMS)])[0]
    assert set(unfolded) == {"garant", "garanti"}
    assert set(SPANISH.analyze(["devolución devolucion devoluciones"])[0]) == {"devolu"}


@pytest.mark.parametrize("word", ["código", "año", "pingüino", "reseña", "envío", "ñandú", "Ávila"])
def test_no_analyzer_cuts_a_word_at_an_accent(word):
    for option in options_of("analyzer"):
        language = "spanish" if option == "auto" else option
        (terms,) = Analyzer(language=language, stem=False, stopwords=False).analyze([word])
        assert len(terms) == 1
        assert len(terms[0]) == len(word)


def test_ene_is_a_letter_of_its_own():
    assert SPANISH.analyze(["año ano"]) == [["año", "ano"]]


def spellings(text):
    """A text as another keyboard or another program would have left it."""
    return [
        text,
        unicodedata.normalize("NFD", text),
        text.upper(),
        unicodedata.normalize("NFD", text.upper()),
    ]


@each_engine
def test_every_form_and_spelling_finds_every_other(engine):
    texts = {f"d{i}": spelling for i, spelling in enumerate(s for form in FORMS for s in spellings(form))}
    for query in texts.values():
        assert len(found({**texts, "z": "coste"}, query, analyzer=SPANISH, engine=engine)) == 10
    assert list(found({"ene": "el an\u0303o", "no": "el ano"}, "año", analyzer=SPANISH, engine=engine)) == [
        "ene"
    ]


@pytest.mark.parametrize("text", ["el año de la garantía", "¿Cuánto cuesta el envío a Logroño?", "pingüino"])
def test_a_decomposed_text_is_the_composed_one_to_every_part_that_reads_words(text):
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    for analyzer in (PLAIN, SPANISH, Analyzer(language="english")):
        assert analyzer.analyze([apart]) == analyzer.analyze([text])
        scorer = Overlap(analyzer=analyzer)
        assert scorer.score([apart], [text]).values.tolist() == scorer.score([text], [text]).values.tolist()
    one, other = Hashing().embed_documents([text, apart]).values
    np.testing.assert_array_equal(one, other)
    composed, decomposed = (collection_of({"a": written_so}) for written_so in (text, apart))
    assert composed.doc_tokens.tolist() == decomposed.doc_tokens.tolist()
    assert any(
        "say the same but for case and blanks: a, b" in line
        for line in findings(collection_of({"a": text, "b": apart}))
    )


def test_documents_and_queries_go_through_one_chain():
    retriever, reranker = (
        made(part, "retriever=bm25", "reranker=overlap", "analyzer=spanish") for part in PARTS
    )
    assert retriever.analyzer == reranker.scorer.analyzer == SPANISH
    for text in ("Las garantías del año", "an\u0303o", "CÓDIGO pag-302"):
        assert next(iter(found({"same": text, "other": "nada"}, text, analyzer=SPANISH))) == "same"
