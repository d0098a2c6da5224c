"""Which label tells most: beside every label tried."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run
from tests.unit.test_bounds import EVERY, Case

from bench.metrics import MEASURES
from bench.unjudged.bounds import difference_bounds
from bench.unjudged.narrowing import label_next
from bench.unjudged.world import World


def narrowed_by_judging(case: Case, measure, k: int) -> dict[tuple[str, str], float]:
    """By how much each label narrows the bounds of the mean, found by judging the pair and computing all anew."""

    def width(qrels) -> np.ndarray:
        world = World.of_pool(case.runs, qrels, max_grade=case.world.max_grade)
        found = difference_bounds(measure, *map(world.standing, case.runs), k)
        return found.high - found.low

    before, narrowed, judged = width(case.qrels), {}, case.qrels.by_query
    for q, query in enumerate(judged):
        free = set() if np.isnan(before[q]) else set(case.pools[q]) - judged[query].keys()
        for doc in free:
            answers = (make_qrels({**judged, query: {**judged[query], doc: g}}) for g in (0, case.scale[-1]))
            after = np.mean([width(qrels)[q] for qrels in answers])
            narrowed[query, doc] = (before[q] - after) / (~np.isnan(before)).sum()
    return {pair: value for pair, value in narrowed.items() if value > 1e-12}


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_pairs_come_in_the_order_of_what_their_labels_narrow(measure):
    for seed in range(12):
        case = Case(seed)
        for k in (1, 3):
            told = label_next(measure, case.world, case.a, case.b, k=k)
            expected = narrowed_by_judging(case, measure, k)
            assert {(p.query_id, p.doc_id): p.narrows for p in told} == pytest.approx(expected)
            assert (np.diff([p.narrows for p in told]) <= 1e-12).all()


def test_labels_of_the_first_pair_again_and_again_decide_a_difference():
    draw = np.random.default_rng(5)
    docs = [f"d{i:02}" for i in range(30)]
    truth = {q: {d: float(draw.random() < 0.3) for d in docs} for q in ("p", "q", "r")}
    runs = [make_run({q: draw.permutation(docs).tolist() for q in truth}, docs=docs) for _ in "ab"]
    for q in truth:
        truth[q]["d00"] = 1.0
    judged = {q: {"d00": 1.0} for q in truth}
    labels = 0
    while True:
        world = World.of_pool(runs, make_qrels(judged), depth=10)
        a, b = map(world.standing, runs)
        found = difference_bounds(MEASURES["ndcg"], a, b, 10)
        pairs = label_next(MEASURES["ndcg"], world, a, b, k=10)
        if found.decided:
            break
        labels += 1
        judged[pairs[0].query_id][pairs[0].doc_id] = truth[pairs[0].query_id][pairs[0].doc_id]
    assert found.decided
    assert 0 < labels < 60
    whole = World.of_pool(runs, make_qrels(truth), depth=10)
    value = difference_bounds(MEASURES["ndcg"], *map(whole.standing, runs), 10)
    assert np.sign(value.mean[0]) == np.sign(found.mean[0]) == np.sign(found.mean[1])


def test_documents_outside_both_top_k_are_listed_where_their_label_tells_something():
    a, b = make_run({"q": ["r", "x", "y"]}), make_run({"q": ["n", "x", "z"]})
    world = World.of_pool([a, b], make_qrels({"q": {"r": 1, "n": 0}}))
    told = label_next(MEASURES["recall"], world, world.standing(a), world.standing(b), k=1)
    assert {pair.doc_id for pair in told} == {"x", "y", "z"}
    assert len({pair.narrows for pair in told}) == 1


def test_what_narrows_nothing_is_not_listed():
    run = make_run({"q": ["r", "x"]})
    world = World.of_pool([run], make_qrels({"q": {"r": 1}}))
    standing = world.standing(run)
    assert label_next(MEASURES["ndcg"], world, standing, standing, k=2) == []
