"""Cases 8 to 11 and their kin: queries without an answer or without a relevant document, and ids that lie."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.cases.everything import (
    collection_of,
    each_measure,
    evaluated,
    hybrid_of,
    options_of,
    reranker_of,
    written,
)
from tests.cli.program import OUR_PARTS, bench, calls, on
from tests.conftest import make_qrels, make_run, ranking_of

from bench.embedders.hashing import Hashing
from bench.errors import BenchError
from bench.evaluate import evaluate
from bench.ids import Ids
from bench.loading import BeirFolder
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.rerankers.pairs import PairReranker, PairScores
from bench.retrievers.bm25 import BM25
from bench.retrievers.dense import Dense
from bench.retrievers.function import Function
from bench.retrievers.run_file import RunFile
from bench.stores import Hits
from bench.stores.exact import Exact
from bench.text.analyzer import Analyzer

DOCS = {"A": "uno", "B": "dos", "X": "tres", "12": "cuatro"}


def shop(judged, questions=("q",)):
    return collection_of(DOCS, dict.fromkeys(questions, "uno"), judged)


@pytest.fixture
def function(tmp_path, monkeypatch):
    """A function of one's own that returns what it is told to."""

    def returning(answer, **settings):
        (tmp_path / "own_search.py").write_text(f"def search(texts, depth):\n    return {answer}\n")
        sys.modules.pop("own_search", None)
        return Function(function="own_search:search", **settings)

    monkeypatch.syspath_prepend(tmp_path)
    return returning


@pytest.fixture
def run_file(tmp_path):
    """A run file of these lines."""

    def holding(lines, **settings):
        (tmp_path / "run.trec").write_text(lines)
        return RunFile(path=str(tmp_path / "run.trec"), **settings)

    return holding


# Case 8: a query that the run did not answer was left out of the mean.


@each_measure
def test_an_unanswered_query_counts_zero_and_every_measure_has_one_denominator(measure):
    judged = {"q1": {"a": 1}, "q2": {"b": 1}}
    for run in ({"q1": ["a"]}, {"q1": ["a"], "q2": []}, {"q1": ["a"], "other": ["b"]}):
        found = evaluated(judged, run, ks=[1])
        if measure != "judged":  # of what came back: of nothing there is no share
            assert found.values[measure, 1][1] == 0.0
            assert found.counted(measure, 1) == 2
            assert found.mean(measure, 1) == found.values[measure, 1][0] / 2
        assert found.unanswered.tolist() == [False, True]


def test_half_of_the_queries_unanswered_is_half_of_the_mean():
    found = evaluated({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"]})
    assert (found.mean("mrr", 5), found.counted("mrr", 5), int(found.unanswered.sum())) == (0.5, 2, 1)


# Case 9: a query without a relevant document counted as 0 or as 1, or corrupted the queries behind it.


@each_measure
def test_a_query_with_nothing_relevant_is_left_out_or_counts_zero_and_moves_no_other(measure):
    judged = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": 1}}
    run = {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    out, zero = (evaluated(judged, run, ks=[1], no_relevant_is_zero=asked) for asked in (False, True))
    without = evaluated({query: docs for query, docs in judged.items() if query != "q2"}, run, ks=[1])
    assert out.values[measure, 1][[0, 2]].tolist() == without.values[measure, 1].tolist()
    assert zero.values[measure, 1][[0, 2]].tolist() == without.values[measure, 1].tolist()
    assert out.no_relevant == 1
    if measure != "judged":  # needs no relevant document
        assert np.isnan(out.values[measure, 1][1])
        assert zero.values[measure, 1][1] == 0.0
        assert (out.counted(measure, 1), zero.counted(measure, 1)) == (2, 3)


def test_the_mean_is_one_over_two_queries_or_two_thirds_over_three():
    judged = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": 1}}
    run = {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    found = evaluated(judged, run)
    assert (found.mean("mrr", 5), found.counted("mrr", 5), found.no_relevant) == (1.0, 2, 1)
    assert evaluated(judged, run, no_relevant_is_zero=True).mean("mrr", 5) == pytest.approx(0.6667, abs=5e-5)


@pytest.mark.parametrize("position", [0, 3, 7])
@pytest.mark.parametrize("nothing", [{"n": 0}, {"n": -1, "m": 0}, {"n": 0.9}])
def test_the_values_of_the_others_are_the_same_wherever_the_empty_query_stands(position, nothing):
    random = np.random.default_rng(position)
    docs = [f"d{i}" for i in range(6)]
    judged = {f"q{i}": {doc: int(random.integers(0, 4)) for doc in docs[:4]} | {"d5": 3} for i in range(7)}
    run = {query: random.permutation(docs).tolist() for query in judged}
    empty = f"q{position - 1}z" if position else "a"
    alone = evaluated(judged, run, ks=[3])
    among = evaluated({**judged, empty: nothing}, {**run, empty: ["n", "d1"]}, ks=[3])
    others = [i for i, query in enumerate(among.queries) if query != empty]
    for key, values in alone.values.items():
        np.testing.assert_array_equal(among.values[key][others], values)


# Case 10: a document that came twice was counted twice: recall 2.0, nDCG 1.63.


def test_duplicates_are_refused_or_the_first_is_kept(function, run_file):
    lines = "q Q0 A 1 3 t\nq Q0 A 2 2 t\nq Q0 X 3 1 t\n"
    listed = "[[('A', 3), ('A', 2), ('X', 1)]]"
    for reader in (lambda **s: run_file(lines, **s), lambda **s: function(listed, **s)):
        one, two = shop({"q": {"A": 1}}), shop({"q": {"A": 1, "B": 1}})
        with pytest.raises(BenchError, match=r"stand twice in a ranking \(q / A\).*duplicates=keep-first"):
            reader().index(one.docs).search(one.queries, 5)
        index = reader(duplicates="keep-first").index(one.docs)
        run = index.search(one.queries, 5)
        assert ranking_of(run, "q") == ["A", "X"]
        assert index.facts()["duplicate_hits"] == 1
        found = evaluate(run, one.qrels, ks=[5], measures=[MEASURES["recall"], MEASURES["ndcg"]])
        assert (found.mean("recall", 5), found.mean("ndcg", 5)) == (1.0, 1.0)
        assert evaluate(run, two.qrels, ks=[5], measures=[MEASURES["recall"]]).mean("recall", 5) == 0.5


class Doubling:
    """A store that finds its first vector over and over, as a broken one might."""

    def build(self, vectors):
        return self

    def search(self, queries, k):
        return Hits(np.zeros((len(queries), k), np.int64), np.ones((len(queries), k), np.float32))


def test_a_store_that_finds_a_vector_twice_is_not_believed():
    of = shop({})
    with pytest.raises(BenchError, match="query q: document X stands twice in its ranking"):
        Dense(embedder=Hashing(), store=Doubling()).index(of.docs).search(of.queries, 2)


def test_a_pair_judged_twice_is_refused():
    with pytest.raises(BenchError, match="pairs judged twice: q / A"):
        Qrels(("q", "q"), ("A", "A"), np.array([1.0, 2.0]))


# Case 11: the document that has the id of the query was taken out of the ranking.


def test_a_document_named_as_the_query_is_a_hit_like_others_in_every_measure():
    found = evaluated({"12": {"12": 1}}, {"12": ["12", "x"]})
    renamed = evaluated({"12": {"r": 1}}, {"12": ["r", "x"]})
    assert found.mean("mrr", 5) == 1.0
    for key, values in renamed.values.items():
        assert found.values[key].tolist() == values.tolist()


def test_a_document_named_as_the_query_is_found_and_kept_by_every_part():
    of = collection_of({"12": "plazo largo", "x": "coste"}, {"12": "plazo"}, {"12": {"12": 1}})
    words = BM25(analyzer=Analyzer(language="plain"))
    for retriever in (words, Dense(embedder=Hashing(), store=Exact()), *map(hybrid_of, options_of("fusion"))):
        run = retriever.index(of.docs).search(of.queries, 5)
        for option in ("none", "overlap"):
            assert ranking_of(reranker_of(option).rerank(run, of), "12")[0] == "12"


def test_judgements_and_rankings_are_left_as_they_were_given():
    judged, run = {"12": {"12": 1, "x": 0}}, {"12": {"12": 0.5, "x": 0.4}}
    evaluated(judged, run)
    assert (judged, run) == ({"12": {"12": 1, "x": 0}}, {"12": {"12": 0.5, "x": 0.4}})


# Ids that were missing on both sides were called equal: recall 1.0.


@pytest.mark.parametrize("missing", [None, True, 1.5, float("nan"), b"a"])
def test_what_is_no_text_is_no_id(missing):
    with pytest.raises(TypeError, match="an id is a text, not"):
        Ids([missing])
    with pytest.raises(TypeError):
        evaluated({"q": {missing: 1}}, {"q": [missing]})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("[[None]]", "None is no pair"),
        ("[[(None, 0.5)]]", "None is no id of a document"),
        ("[[(float('nan'), 0.5)]]", "nan is no id"),
        ("[[True]]", "True is no id"),
        ("[[('A', None)]]", "is no pair of document id and score"),
    ],
)
def test_a_hit_without_an_id_is_refused(answer, said, function):
    of = shop({})
    with pytest.raises(BenchError, match=said):
        function(answer).index(of.docs).search(of.queries, 5)


@pytest.mark.parametrize("lacking", [{}, {"_id": None}, {"_id": ""}, {"_id": True}])
def test_documents_and_queries_without_an_id_are_refused_and_do_not_meet(lacking, tmp_path):
    folder = written(tmp_path / "shop", DOCS, {"q": "uno"}, {"q": {"A": 1}})
    for file in ("corpus.jsonl", "queries.jsonl"):
        with (folder / file).open("a") as lines:
            lines.write(json.dumps({**lacking, "text": "sin nombre"}) + "\n")
    with (folder / "qrels" / "test.tsv").open("a") as lines:
        lines.write("q\t\t1\n")
    with pytest.raises(BenchError) as raised:
        BeirFolder(path=str(folder)).load()
    told = "its _id true is no text" if lacking.get("_id") is True else "it has no _id"
    for said in (f"corpus.jsonl:5: {told}", f"queries.jsonl:2: {told}", "test.tsv:3: no corpus-id"):
        assert said in str(raised.value)


# 12 was not "12", or a gold id was not in the corpus, and the score was 0 without a word.


@pytest.mark.parametrize("twelve", ["12", "'12'", "__import__('numpy').int64(12)"])
def test_a_number_and_its_text_are_one_id(twelve, function):
    of = shop({"q": {"12": 1}})
    run = function(f"[[({twelve}, 0.5)]]").index(of.docs).search(of.queries, 5)
    assert evaluate(run, of.qrels, ks=[1], measures=[MEASURES["recall"]]).mean("recall", 1) == 1.0


def test_a_number_that_is_not_whole_is_no_id_rather_than_one_that_nothing_has(function):
    of = shop({})
    with pytest.raises(BenchError, match=r"12\.0 is no id of a document: a text or a whole number"):
        function("[[(12.0, 0.5)]]").index(of.docs).search(of.queries, 5)


def test_judged_ids_that_the_corpus_lacks_are_listed_before_anything_is_embedded(in_folder):
    folder = written(in_folder / "shop", DOCS, {"q": "uno"}, {"q": {"12.0": 1, "a": 1}, "Q": {"A": 1}})

    answer = bench(*OUR_PARTS, "embedder=counting", "k=1", on=(*on(folder)[:2], "timing=off"))

    assert answer.code == 2
    assert "the judgements name 3 ids that do not exist (query Q, document 12.0, document a)" in answer.err
    assert calls() == []
    assert not (in_folder / "outputs").exists()


@pytest.mark.parametrize("unknown", ["12.0", "a", " A"])
def test_hits_that_the_corpus_lacks_are_listed(unknown, function):
    of = shop({})
    with pytest.raises(BenchError, match=rf"1 documents that are not in the collection \({unknown}\)"):
        function(f"[[({unknown!r}, 1.0)]]").index(of.docs).search(of.queries, 5)


# A set or a mapping of hits has no order, and was ranked all the same.


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("[{'A', 'B'}]", "set"),
        ("[frozenset(['A', 'B'])]", "frozenset"),
        ("[{'A': 0.1, 'B': 0.9}]", "dict"),
        ("[{'A': 0.1, 'B': 0.9}.keys()]", "dict_keys"),
        ("{'q': ['A']}", "dict"),
    ],
)
def test_what_has_no_order_is_no_ranking(answer, kind, function):
    of = shop({})
    with pytest.raises(BenchError, match=rf"returned {kind}, which has no order: return a list"):
        function(answer).index(of.docs).search(of.queries, 5)


# A score that was NaN was ranked somewhere.


class Nowhere:
    """A scorer that divides by zero."""

    def score(self, queries, documents):
        return PairScores(np.full(len(queries), np.nan), np.zeros(len(queries), np.int32))


@pytest.mark.parametrize("where", ["run", "function", "run file", "reranker"])
def test_a_score_that_is_nan_is_refused_by_name(where, function, run_file):
    of = shop({})

    def ranked():
        match where:
            case "run":
                return make_run({"q": {"A": 1.0, "B": float("nan")}})
            case "function":
                return function("[[('A', float('nan'))]]").index(of.docs).search(of.queries, 5)
            case "run file":
                return run_file("q Q0 A 1 nan t\nq Q0 B 2 1 t\n").index(of.docs).search(of.queries, 5)
        return PairReranker(scorer=Nowhere()).rerank(make_run({"q": ["A"]}, docs=[*DOCS]), of)

    said = "run.trec:1: 'nan' is no score" if where == "run file" else "query q: a score is NaN"
    with pytest.raises(BenchError, match=said):
        ranked()


def test_infinite_scores_stand_at_the_ends_of_a_ranking_wherever_it_is_read(function, run_file):
    of = shop({})
    expected = ["B", "A", "X"]
    assert ranking_of(make_run({"q": {"A": 0.0, "B": np.inf, "X": -np.inf}}), "q") == expected
    lines = "q Q0 A 1 0 t\nq Q0 B 2 inf t\nq Q0 X 3 -inf t\n"
    listed = "[[('A', 0), ('B', float('inf')), ('X', float('-inf'))]]"
    for recipe in (run_file(lines), function(listed)):
        assert ranking_of(recipe.index(of.docs).search(of.queries, 5), "q") == expected


def test_grades_that_are_no_number_are_refused():
    for grade in (float("nan"), float("inf")):
        with pytest.raises(BenchError, match="grades that are no number: q / A"):
            make_qrels({"q": {"A": grade}})
