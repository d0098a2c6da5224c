"""Cases 6 and 7 and their kin: equal scores have one order everywhere, and nothing makes scores equal that are not."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cases.everything import (
    collection_of,
    each_fusion,
    each_measure,
    each_store,
    evaluated,
    fusion_of,
    reranker_of,
    store_of,
    trec_lines,
    unit_vectors,
    value,
)
from tests.conftest import make_qrels, make_run, ranking_of

from bench.artifacts import write_table, write_trec
from bench.cache import Cache
from bench.cached import CachedScorer
from bench.metrics import MEASURES
from bench.rerankers.pairs import PairReranker, PairScores
from bench.retrievers.function import Function
from bench.retrievers.run_file import RunFile
from bench.runs import Run
from bench.ties import ties

IDS = ("dev-plazo", "env-coste", "gar-dos")
RULE = ["gar-dos", "env-coste", "dev-plazo"]
ORDERS = list(itertools.permutations(IDS))
JUDGED = {"dev-plazo": 1}
SHOP = collection_of(dict.fromkeys(IDS, "plazo"), {"q": "plazo"}, {"q": JUDGED})


def ranks_of(run):
    return [run.docs[row] for row in run.rows[0] if row >= 0]


# Case 6: the order of equal scores was that of insertion, or another one in every measure.


def test_equal_scores_put_the_later_id_first():
    run = dict.fromkeys(IDS, 0.7)
    assert value("mrr", 3, JUDGED, run) == pytest.approx(0.3333, abs=5e-5)
    assert value("ndcg", 3, JUDGED, run) == 0.5


@each_measure
def test_every_measure_sees_one_order_of_equal_scores_whatever_the_order_of_the_input(measure):
    by_rule = value(measure, 2, JUDGED, RULE)
    assert {value(measure, 2, JUDGED, dict.fromkeys(order, 0.7)) for order in ORDERS} == {by_rule}


@pytest.mark.parametrize("order", ORDERS)
def test_every_way_to_make_a_run_has_that_order(order, tmp_path, monkeypatch):
    table = pa.table({"query_id": ["q"] * 3, "doc_id": list(order), "score": [0.7] * 3})
    assert ranks_of(Run.from_table(table, queries=("q",), docs=SHOP.doc_ids)) == RULE

    (tmp_path / "run.trec").write_text(trec_lines({"q": dict.fromkeys(order, 0.7)}))
    run = RunFile(path=str(tmp_path / "run.trec")).index(SHOP.docs).search(SHOP.queries, 3)
    assert ranks_of(run) == RULE
    assert (
        ranks_of(RunFile(path=str(tmp_path / "run.trec")).index(SHOP.docs).search(SHOP.queries, 1))
        == RULE[:1]
    )

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "level_search.py").write_text(
        f"def search(texts, depth):\n    return [[(doc, 0.7) for doc in {order!r}] for _ in texts]\n"
    )
    sys.modules.pop("level_search", None)
    assert ranks_of(Function(function="level_search:search").index(SHOP.docs).search(SHOP.queries, 3)) == RULE


@each_store
def test_no_store_leaves_equal_scores_in_an_order_of_its_own(option):
    # Every vector twenty times, in a random order: the library finds some of each, and never in another order.
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(30), 20))
    hits = store_of(option).build(unit_vectors(30)[copies]).search(unit_vectors(30), 25)
    level = hits.scores[:, 1:] == hits.scores[:, :-1]
    assert level.any()
    assert (hits.rows[:, 1:] > hits.rows[:, :-1])[level].all()


@each_fusion
def test_no_fusion_leaves_what_its_sides_value_alike_in_an_order_of_its_own(option):
    method = fusion_of(option)
    for left, right in itertools.permutations([["a", "b", "c"], ["c", "b", "a"]]):
        sides = {"one": make_run({"q": left}), "two": make_run({"q": right})}
        fused = method.fuse(sides, {"one": 1.0, "two": 1.0}, depth=3)
        scores = dict(zip(ranking_of(fused, "q"), fused.scores[0].tolist(), strict=True))
        assert scores["a"] == scores["c"]
        assert ranking_of(fused, "q").index("c") < ranking_of(fused, "q").index("a")


class Constant:
    """A scorer to which every pair is the same."""

    def score(self, queries, documents):
        return PairScores(np.full(len(queries), 0.5), np.zeros(len(queries), np.int32))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("scorer", [Constant(), "overlap"])
def test_a_constant_scorer_gains_nothing_from_the_order_it_was_given(order, scorer):
    asked = collection_of(dict.fromkeys(IDS, "plazo"), {"q": "¿?"}, {"q": JUDGED})
    run = Run(("q",), asked.doc_ids, asked.doc_ids.rows(order)[np.newaxis], np.array([[3.0, 2.0, 1.0]]))
    reranker = reranker_of("overlap") if scorer == "overlap" else PairReranker(scorer=scorer)
    reranked = reranker.rerank(run, asked)
    assert ranks_of(reranked) == RULE
    assert ties(reranked, asked.qrels).expected(MEASURES["mrr"], 3)[0] == pytest.approx(0.6111, abs=5e-5)


@pytest.mark.parametrize("option", ["none", "overlap"])
def test_a_reranker_of_equal_candidates_says_that_they_are_equal(option):
    run = Run(("q",), SHOP.doc_ids, np.array([[0, 1, 2]]), np.full((1, 3), 0.7))
    reranked = reranker_of(option).rerank(run, SHOP)
    assert ranks_of(reranked) == RULE
    assert len(set(reranked.scores[0].tolist())) == 1


def test_what_the_order_of_ties_decides_is_told_with_its_expectation_and_its_bounds():
    found = ties(make_run({"q": dict.fromkeys(IDS, 0.7)}), make_qrels({"q": JUDGED}))
    mrr = MEASURES["mrr"]
    figures = (found.lowest(mrr, 3)[0], found.expected(mrr, 3)[0], found.highest(mrr, 3)[0])
    assert figures == pytest.approx((0.3333, 0.6111, 1.0), abs=5e-5)
    assert found.decisive(3).tolist() == [True]
    settled = ties(
        make_run({"q": {"dev-plazo": 0.9, "env-coste": 0.7, "gar-dos": 0.7}}), make_qrels({"q": JUDGED})
    )
    assert settled.decisive(3).tolist() == [False]


# Case 7: scores were rounded on their way, which made ties of them.

NEXT = float(np.nextafter(0.3, 1))
NEAR = [
    {"a": 0.30000001192092896, "z": 0.3},
    {"a": NEXT, "z": 0.3},
    {"a": 1e300 * (1 + 2**-52), "z": 1e300},
    {"a": 5e-324, "z": 0.0},
    {"a": 30.0, "m": 25.0, "z": 20.0},
    {"a": float("inf"), "m": 1.0, "z": float("-inf")},
]
each_near = pytest.mark.parametrize("scores", NEAR, ids=str)
PAIR = collection_of({"a": "uno", "m": "dos", "z": "tres"}, {"q": "uno"}, {"q": {"a": 1}})


def run_of(scores):
    rows = PAIR.doc_ids.rows(scores)[np.newaxis]
    return Run(("q",), PAIR.doc_ids, rows, np.array([list(scores.values())]))


@each_near
def test_scores_that_differ_in_their_last_bit_are_no_tie(scores):
    assert ranks_of(run_of(scores)) == list(scores)
    assert value("mrr", 5, {"a": 1}, scores) == 1.0
    assert not ties(run_of(scores), PAIR.qrels).decisive(5).any()


@each_near
def test_scores_come_back_from_disk_as_they_were(scores, tmp_path):
    run = run_of(scores).as_stage("first")
    write_table(run.to_table())(tmp_path / "run.parquet")
    write_trec(run, tag="ours")(tmp_path / "run.trec")

    back = Run.from_table(pq.read_table(tmp_path / "run.parquet"), queries=("q",), docs=PAIR.doc_ids)
    read = RunFile(path=str(tmp_path / "run.trec")).index(PAIR.docs).search(PAIR.queries, 3)

    for again in (back, read):
        assert ranks_of(again) == list(scores)
        assert again.scores.tolist() == run.scores.tolist()
    assert back.stages["first"].scores.tolist() == run.scores.tolist()


class ByText:
    """A scorer that knows the number of every text."""

    def __init__(self, numbers):
        self.numbers, self.asked = numbers, 0

    def identity(self):
        return f"ByText({self.numbers})"

    def score(self, queries, documents):
        self.asked += len(documents)
        values = np.array([self.numbers[text] for text in documents])
        return PairScores(values, np.zeros(len(values), np.int32))


@pytest.mark.parametrize("scores", NEAR[:5], ids=str)
def test_a_cached_score_is_the_score_to_its_last_bit(scores, tmp_path):
    texts = {PAIR.docs[int(PAIR.doc_ids.rows([doc])[0])].text: number for doc, number in scores.items()}
    backwards = Run(
        ("q",), PAIR.doc_ids, PAIR.doc_ids.rows([*scores][::-1])[np.newaxis], np.zeros((1, len(scores)))
    )
    for _ in range(2):
        scorer = ByText(texts)
        cached = CachedScorer(scorer, Cache(tmp_path))
        reranked = PairReranker(scorer=cached).rerank(backwards, PAIR)
        assert ranks_of(reranked) == list(scores)
        assert reranked.scores[0].tolist() == list(scores.values())
    assert scorer.asked == 0


def test_a_fusion_of_nearly_equal_scores_is_no_tie():
    sides = {"one": make_run({"q": {"a": NEXT, "z": 0.3}}), "two": make_run({"q": {"a": 0.5, "z": 0.5}})}
    for option in ("weighted", "rrf"):
        fused = fusion_of(option).fuse({"one": sides["one"]}, {"one": 1.0}, depth=2)
        assert ranking_of(fused, "q") == ["a", "z"]
    fused = fusion_of("weighted").fuse(sides, {"one": 1.0, "two": 1.0}, depth=2)
    assert ranking_of(fused, "q") == ["a", "z"]


def test_measures_of_runs_that_differ_in_the_last_bit_of_a_score_differ():
    near, level = ({"q": {"a": score, "z": 0.3}} for score in (NEXT, 0.3))
    judged = {"q": {"a": 1}}
    assert evaluated(judged, near).mean("mrr", 5) == 1.0
    assert evaluated(judged, level).mean("mrr", 5) == 0.5
