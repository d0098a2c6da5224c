"""What a collection is warned of, what a score can reach on it, and how its judgements are audited."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.conftest import make_run

from bench.audit import leave_one_out, missed, pool_of, ranked_again, repeats
from bench.checks import conflicts, findings, reach
from bench.collection import Collection, Doc, Query
from bench.evaluate import evaluate
from bench.judgements import Judgement
from bench.metrics import MEASURES
from bench.qrels import Qrels

LONG = "la devolución de un artículo sin usar se pide en treinta días desde la entrega del pedido en su casa"


def made(docs, queries, judged) -> Collection:
    return Collection(
        name="c",
        docs=tuple(Doc(id=i, text=t) for i, t in docs.items()),
        queries=tuple(Query(id=i, text=t) for i, t in queries.items()),
        qrels=Qrels.of(judged),
    )


def test_equal_near_and_quoted_texts_are_found():
    docs = {"a": LONG, "b": LONG.upper(), "c": LONG + " gratis", "d": "otra cosa"}
    told = list(findings(made(docs, {"q": "un artículo sin usar se pide"}, {"q": {"a": 1}}), ks=[9]))
    assert any("documents with one text: a, b" in line for line in told)
    assert any("nearly alike" in line and line.endswith("a, c") for line in told)
    assert any("query q stands word for word in" in line for line in told)
    assert any("k=9 is more than the 4 documents" in line for line in told)


def test_queries_with_nothing_and_with_everything_relevant_are_found():
    told = list(
        findings(
            made(
                {"a": "x", "b": "y"}, {"p": "1", "q": "2", "r": "3"}, {"p": {"a": 0}, "q": {"a": 1, "b": 1}}
            ),
            ks=[],
        )
    )
    assert any("1 queries have nothing relevant" in line and "p" in line for line in told)
    assert any("query q: every document is relevant" in line for line in told)
    assert any("1 queries are not judged: r" in line for line in told)


def test_equal_texts_with_different_grades_are_a_conflict():
    collection = made(
        {"a": "Uno dos", "b": "uno  DOS", "c": "tres"}, {"q": "¿?"}, {"q": {"a": 1, "b": 0, "c": 0}}
    )
    assert conflicts(collection) == ["query q: one text has several grades: a 1, b 0"]
    assert not conflicts(made({"a": "uno", "b": "uno"}, {"q": "¿?"}, {"q": {"a": 1, "b": 1}}))


def test_the_random_expectation_is_the_mean_over_every_order():
    docs = {i: f"texto {i}" for i in "abcde"}
    judged = {"q": {"a": 2, "b": 1, "c": 0}}
    collection = made(docs, {"q": "¿?"}, judged)
    lenses = [MEASURES[name] for name in ("precision", "recall", "mrr", "ndcg")]
    orders = [
        evaluate(make_run({"q": order}), collection.qrels, ks=[1, 3], measures=lenses)
        for order in itertools.permutations("abcde")
    ]
    values = reach(collection, ks=[1, 3])
    for measure, k in itertools.product(lenses, (1, 3)):
        every = [found.mean(measure.name, k) for found in orders]
        assert values[measure.name, k] == pytest.approx((max(every), np.mean(every)))


def reading(assessor, query, doc, grade) -> Judgement:
    return Judgement(time="2026-01-01", assessor=assessor, query_id=query, doc_id=doc, grade=grade)


def test_kappa_is_that_of_scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    pairs = [(0, 0), (0, 1), (1, 1), (2, 2), (2, 1), (0, 0), (2, 0), (1, 2)]
    log = [
        reading(who, "q", f"d{i}", pair[n])
        for i, pair in enumerate(pairs)
        for n, who in enumerate(("x", "y"))
    ]
    both = repeats(log, "x", "y")
    expected = cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic")
    assert (both.pairs, both.equal) == (8, 0.5)
    assert both.quadratic_kappa == pytest.approx(expected)
    assert repeats(log, "x", "z") is None


def test_what_a_pool_missed_is_counted_on_fully_judged_queries_alone():
    docs = {i: i for i in "abc"}
    collection = made(docs, {"p": "1", "q": "2"}, {"p": {"a": 2, "b": 2, "c": 0}, "q": {"a": 2}})
    found = missed(collection, {"p": {"a"}, "q": set()}, rel=1)
    assert (found.queries, found.pooled, found.relevant) == (1, 1, 2)
    assert missed(made(docs, {"q": "2"}, {"q": {"a": 2}}), {}, rel=1) is None


def test_a_system_loses_what_only_it_brought():
    runs = {"one": make_run({"q": ["a", "b"]}, docs="abc"), "two": make_run({"q": ["c", "b"]}, docs="abc")}
    qrels = Qrels.of({"q": {"a": 1, "c": 1}})
    left = {one.system: one for one in leave_one_out(runs, qrels, depth=2)}
    assert left["one"].without == 0.0
    assert pool_of(runs, 1) == {"q": {"a", "c"}}


def test_a_second_reading_can_turn_a_verdict():
    runs = {"one": make_run({"q": ["a"]}, docs="ab"), "two": make_run({"q": ["b"]}, docs="ab")}
    log = [
        reading("pass-1", "q", "a", 2),
        reading("pass-1", "q", "b", 1),
        reading("pass-2", "q", "b", 2),
        reading("pass-2", "q", "a", 1),
    ]
    found = {one.way: one for one in ranked_again(runs, log, "pass-1", "pass-2")}
    assert found["pass-2"].changed == [("one", "two")]
    assert found["union"].changed == []
