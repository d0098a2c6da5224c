import itertools
import logging
import math

import numpy as np
import pytest
from hydra.utils import instantiate
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.identity import identity
from bench.qrels import Qrels
from bench.retrievers.bm25 import BM25, METHODS
from bench.text.analyzer import Analyzer

PLAIN = Analyzer(language="plain")
SPANISH = Analyzer(language="spanish")
EVERY = [(engine, method) for engine, methods in METHODS.items() for method in methods]
each_engine = pytest.mark.parametrize("engine", METHODS)


def search(texts, *queries, depth=10, analyzer=PLAIN, **settings):
    """`[(document, score), ...]` of each query over documents d0, d1, ... with these texts."""
    docs = Collection(
        name="small",
        docs=tuple(Doc(id=f"d{number}", text=text) for number, text in enumerate(texts)),
        queries=(),
        qrels=Qrels.of({}),
    ).docs
    asked = [Query(id=f"q{number}", text=text) for number, text in enumerate(queries)]
    run = BM25(analyzer=analyzer, **settings).index(docs).search(asked, depth)
    return [
        [(run.docs[row], score) for row, score in zip(rows, scores, strict=True) if row >= 0]
        for rows, scores in zip(run.rows.tolist(), run.scores.tolist(), strict=True)
    ]


def found(*arguments, **settings):
    return [[doc for doc, _ in hits] for hits in search(*arguments, **settings)]


def test_scores_are_those_of_the_formula():
    texts = ["plazo de devolución", "plazo plazo", "coste del envío a casa"]
    lengths, k1, b = (3, 2, 5), 1.2, 0.6

    def weight(doc, count, holders):
        idf = math.log(1 + (3 - holders + 0.5) / (holders + 0.5))
        return idf * count / (count + k1 * (1 - b + b * lengths[doc] / (10 / 3)))

    [hits] = search(texts, "plazo devolución", k1=k1, b=b)
    assert hits == [
        ("d0", pytest.approx(weight(0, 1, 2) + weight(0, 1, 1))),
        ("d1", pytest.approx(weight(1, 2, 2))),
    ]


@pytest.mark.parametrize(
    ("method", "idf", "saturation"),
    [
        ("lucene", math.log(1 + 2.5 / 1.5), 1 / 2.5),
        ("robertson", math.log(2.5 / 1.5), 1 / 2.5),
        ("atire", math.log(3 / 1), 1),
        ("bm25l", math.log(4 / 1.5), 2.5 * 1.5 / (1.5 + 1.5)),
        ("bm25+", math.log(4 / 1), 1 + 1),
    ],
)
def test_each_method_of_bm25s_is_its_formula(method, idf, saturation):
    [hits] = search(["plazo", "coste", "casa"], "plazo", method=method)
    assert hits == [("d0", pytest.approx(idf * saturation))]


def test_both_engines_agree_on_bm25_plus():
    texts = ["plazo de devolución", "plazo plazo", "coste del envío a casa"]
    ours, theirs = (search(texts, "plazo casa", engine=engine, method="bm25+") for engine in METHODS)
    assert [doc for doc, _ in ours[0]] == [doc for doc, _ in theirs[0]]
    assert [score for _, score in ours[0]] == pytest.approx([score for _, score in theirs[0]])


def test_a_word_in_half_of_the_documents_counts():
    texts = ["devolución gratis", "envío gratis"]
    [hits] = search(texts, "devolución")
    assert hits == [("d0", pytest.approx(math.log(2) / 2.5))]
    assert search(texts, "devolución", engine="rank_bm25") == [[("d0", 0.0)]]


def test_a_word_in_every_document_ranks_the_one_that_says_it_most_first():
    texts = ["plazo devolución plazo", "plazo envío", "plazo coste"]
    [hits] = search(texts, "plazo")
    assert hits[0] == ("d0", pytest.approx(math.log(1 + 0.5 / 3.5) * 2 / (2 + 1.5 * (0.25 + 0.75 * 9 / 7))))
    assert [doc for doc, _ in hits] == ["d0", "d2", "d1"]
    [package] = search(texts, "plazo", engine="rank_bm25")
    assert package == [
        ("d2", pytest.approx(-0.0276, abs=5e-5)),
        ("d1", pytest.approx(-0.0276, abs=5e-5)),
        ("d0", pytest.approx(-0.0338, abs=5e-5)),
    ]


@pytest.mark.parametrize(("engine", "method"), EVERY)
@pytest.mark.parametrize("query", ["garaje", "", "¿?", "el de la"])
def test_a_query_without_a_known_term_finds_nothing(engine, method, query):
    texts = ["el plazo de garantía", "la garantía", "", "de la"]
    assert search(texts, query, analyzer=SPANISH, engine=engine, method=method) == [[]]


@pytest.mark.parametrize(("engine", "method"), EVERY)
def test_unknown_words_of_a_query_change_nothing(engine, method):
    texts = ["plazo de garantía", "garantía", "coste"]
    alone, among = search(texts, "plazo", "garaje plazo zapato", engine=engine, method=method)
    assert alone == among


@each_engine
def test_a_word_counts_as_often_as_the_query_says_it(engine):
    once, twice = search(["plazo largo", "coste", "casa"], "plazo", "plazo Plazo", engine=engine)
    assert twice == [("d0", pytest.approx(2 * once[0][1]))]


@each_engine
def test_every_form_of_a_word_finds_every_other(engine):
    forms = ["garantía", "garantías", "garantia", "GARANTIAS"]
    every = found(forms, *forms, analyzer=SPANISH, engine=engine)
    assert every == [["d3", "d2", "d1", "d0"]] * 4
    assert found(["el año fiscal", "ano", "coste"], "an\u0303o", analyzer=SPANISH, engine=engine) == [["d0"]]


@each_engine
def test_a_title_is_searched_with_its_text(engine):
    docs = (Doc(id="a", title="Garantía", text="dos años"), Doc(id="Z", text="coste"))
    run = BM25(analyzer=PLAIN, engine=engine).index(docs).search([Query(id="q", text="garantía")], 5)
    assert run.rows[0].tolist() == [0, -1, -1, -1, -1]


@each_engine
def test_more_may_be_asked_than_there_are_documents(engine):
    assert found(["plazo", "plazo largo", "coste"], "plazo", depth=5, engine=engine) == [["d0", "d1"]]


@each_engine
@pytest.mark.parametrize("texts", [[], [""], ["", "¿?"]])
def test_documents_without_a_single_term_are_no_obstacle(engine, texts):
    assert search(texts, "plazo", "", engine=engine) == [[], []]


@each_engine
@pytest.mark.parametrize("order", list(itertools.permutations(["dev-plazo", "env-coste", "gar-dos", "Ñ"])))
def test_equal_scores_are_by_document_id_descending_whatever_the_order_they_came_in(engine, order):
    docs = tuple(Doc(id=name, text="plazo") for name in order)
    docs = Collection(name="ties", docs=docs, queries=(), qrels=Qrels.of({})).docs
    index = BM25(analyzer=PLAIN, engine=engine).index(docs)
    expected = ["Ñ", "gar-dos", "env-coste", "dev-plazo"]
    for depth in (1, 2, 4, 6):
        run = index.search([Query(id="q", text="plazo")], depth)
        assert [run.docs[row] for row in run.rows[0] if row >= 0] == expected[:depth]


def test_documents_out_of_tie_order_are_refused():
    with pytest.raises(ValueError, match="tie order"):
        BM25(analyzer=PLAIN).index([Doc(id="a", text="plazo"), Doc(id="b", text="plazo")])


WORDS = st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join)


@pytest.mark.parametrize(("engine", "method"), EVERY)
@given(texts=st.lists(WORDS, min_size=1, max_size=7), queries=st.lists(WORDS, min_size=1, max_size=4))
def test_the_hits_are_exactly_the_documents_that_share_a_term(engine, method, texts, queries):
    settings = {"engine": engine, "method": method}
    every = search(texts, *queries, **settings)
    for query, hits in zip(queries, every, strict=True):
        sharing = {f"d{n}" for n, text in enumerate(texts) if set(text.split()) & set(query.split())}
        assert {doc for doc, _ in hits} == sharing
        assert np.isfinite([score for _, score in hits]).all()
    assert every == [search(texts, query, **settings)[0] for query in queries]
    assert [hits[:2] for hits in every] == search(texts, *queries, depth=2, **settings)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"engine": "bm25"}, "bm25.engine='bm25'; did you mean 'bm25s'?"),
        ({"method": "okapi"}, "bm25.method='okapi': bm25s has lucene, robertson, atire, bm25l, bm25+"),
        ({"engine": "rank_bm25", "method": "bm25l"}, "bm25.method='bm25l': rank_bm25 has okapi, bm25+"),
        ({"delta": 0.5}, "bm25.delta=0.5: lucene has no delta, leave it null"),
        ({"method": "bm25+", "delta": -1}, "bm25.delta=-1: a number from 0"),
        ({"k1": 0}, "bm25.k1=0: a number above 0"),
        ({"k1": math.nan}, "bm25.k1=nan: a number above 0"),
        ({"b": 1.5}, "bm25.b=1.5: a number from 0 to 1"),
        ({"b": "0.75"}, "bm25.b='0.75': a number from 0 to 1"),
    ],
)
def test_a_wrong_field_is_named(fields, message):
    with pytest.raises(BenchError) as raised:
        BM25(analyzer=PLAIN, **fields)
    assert message in str(raised.value)


def test_identity_is_the_same_whether_a_default_is_asked_for_or_not():
    asked = BM25(analyzer=PLAIN, method="lucene", k1=1.5, b=0.75)
    assert identity(asked) == identity(BM25(analyzer=PLAIN))
    assert identity(BM25(analyzer=PLAIN, engine="rank_bm25")).endswith(
        "engine='rank_bm25', k1=1.5, b=0.75, method='okapi', delta=None)"
    )
    assert BM25(analyzer=PLAIN, method="bm25+").delta == 1.0


def test_the_config_says_what_the_constructor_says():
    config = OmegaConf.create(
        {
            "analyzer": OmegaConf.load("conf/analyzer/spanish.yaml"),
            "bm25": OmegaConf.load("conf/bm25/default.yaml"),
            "retriever": OmegaConf.load("conf/retriever/bm25.yaml"),
        }
    )
    assert instantiate(config.retriever, _convert_="all") == BM25(analyzer=SPANISH)
    config.bm25.engine = "rank_bm25"
    assert instantiate(config.retriever, _convert_="all").method == "okapi"


def test_indexing_logs_nothing_below_the_level_of_the_program(caplog):
    logging.getLogger("bm25s").debug("a word of its own")
    search(["plazo"], "plazo")
    assert not caplog.records


@each_engine
def test_facts_count_what_is_held(engine):
    docs = (Doc(id="c", text="plazo de garantía"), Doc(id="b", text="plazo"), Doc(id="a", text=""))
    facts = BM25(analyzer=PLAIN, engine=engine).index(docs).facts()
    assert facts.pop("index_bytes") > 0
    assert facts == {
        "engine": engine,
        "documents": 3,
        "documents_without_terms": 1,
        "mean_length": pytest.approx(4 / 3),
        "terms": 3,
    }
