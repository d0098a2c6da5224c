"""What unjudged documents could change: beside every way to judge them, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.gains import Gains
from bench.metrics import MEASURES, parse
from bench.unjudged.bounds import Bounds, bounds, difference_bounds
from bench.unjudged.world import World

NAMES = ("P", "R", "RR", "nDCG", "P(rel=2)", "R(rel=2)", "RR(rel=2)")
EVERY = [parse(name)[0] for name in NAMES]
SCALES = ([0, 0, 1], [0, 1, 2], [-1, 0, 0.5, 1, 2.5], [0, 1, 2, 3])
"""Grades that judges gave, of which the last is the top of the scale."""


class Case:
    """Random judgements and two runs of a few documents, and the values under every way to judge the rest."""

    def __init__(self, seed: int, *, everything: bool = False, depth: int | None = None) -> None:
        draw = np.random.default_rng(seed)
        self.docs = [f"d{i}" for i in range(8)]
        self.scale = SCALES[seed % len(SCALES)]
        judged, rankings = {}, [{}, {}]
        for query in ("p", "q"):
            shuffled = draw.permutation(self.docs).tolist()
            count = int(draw.integers(4, 7))
            judged[query] = {doc: float(draw.choice(self.scale)) for doc in shuffled[:count]}
            for ranking in rankings:
                ranking[query] = draw.permutation(self.docs).tolist()[: int(draw.integers(0, 8))]
        self.qrels = make_qrels(judged)
        self.runs = [make_run(ranking, docs=self.docs) for ranking in rankings]
        top = float(self.scale[-1])
        if everything:
            self.world = World.of_everything(self.runs[0].docs, self.qrels, max_grade=top)
        else:
            self.world = World.of_pool(self.runs, self.qrels, depth=depth, max_grade=top)
        self.a, self.b = map(self.world.standing, self.runs)
        seen = [ranking[query][:depth] for query in judged for ranking in rankings]
        self.pools = [
            self.docs if everything else sorted({*seen[2 * i], *seen[2 * i + 1]}) for i in range(len(judged))
        ]
        self.rankings = [[ranking[query] for query in judged] for ranking in rankings]

    def grades(self, query: int) -> np.ndarray:
        """The grades of all documents, -inf where they have none, one row a way to judge the unjudged."""
        known = self.qrels.by_query[self.qrels.judged_queries[query]]
        free = [doc for doc in self.pools[query] if doc not in known]
        top = float(self.scale[-1])
        possible = sorted({*range(int(top) + 1), top})
        rows = []
        for chosen in itertools.product(possible, repeat=len(free)):
            given = {**known, **dict(zip(free, chosen, strict=True))}
            rows.append([given.get(doc, -np.inf) for doc in self.docs])
        return np.array(rows)

    def values(self, measure, run: int, query: int, k: int) -> np.ndarray:
        """The measure under every way to judge."""
        grades = self.grades(query)
        ranked = np.zeros((len(grades), 8))
        ranking = [self.docs.index(doc) for doc in self.rankings[run][query]]
        ranked[:, : len(ranking)] = np.maximum(grades[:, ranking], 0)
        ideal = -np.sort(-grades, axis=1)
        return measure(Gains(ranked, np.zeros(ranked.shape, np.int8), ideal), k)

    def hold(self, measure, found: Bounds | None, values_of) -> None:
        """The bounds are the extremes of the values, and are left out where nothing relevant is judged."""
        counts = self.a.gains.total(rel=measure.rel) > 0
        for query in range(2):
            low, high = found.low[query], found.high[query]
            if not counts[query]:
                assert np.isnan([low, high]).all()
                continue
            values = values_of(query)
            assert [low, high] == pytest.approx([values.min(), values.max()], abs=1e-12), str(measure)


def hold_for_one_system(case: Case) -> None:
    for measure, k in itertools.product(EVERY, (1, 2, 4, 9)):
        case.hold(measure, bounds(measure, case.a, k), lambda q, m=measure, k=k: case.values(m, 0, q, k))


def hold_for_two_systems(case: Case) -> None:
    for measure, k in itertools.product(EVERY, (1, 2, 4, 9)):
        case.hold(
            measure,
            difference_bounds(measure, case.a, case.b, k),
            lambda q, m=measure, k=k: case.values(m, 0, q, k) - case.values(m, 1, q, k),
        )


@pytest.mark.parametrize("hold", [hold_for_one_system, hold_for_two_systems])
@pytest.mark.parametrize("how", [{}, {"everything": True}, {"depth": 2}], ids=str)
def test_bounds_are_the_extremes_over_every_way_to_judge(hold, how):
    for seed in range(8):
        hold(Case(seed, **how))


@pytest.mark.slow
@pytest.mark.parametrize("hold", [hold_for_one_system, hold_for_two_systems])
@pytest.mark.parametrize("how", [{}, {"everything": True}, {"depth": 2}], ids=str)
def test_bounds_are_the_extremes_over_every_way_to_judge_in_thousands_of_cases(hold, how):
    for seed in range(100, 240):
        hold(Case(seed, **how))


def test_the_worked_example_is_between_0_850_and_1():
    run = make_run({"q": ["a", "n1", "n2", "n3", "x"]})
    qrels = make_qrels({"q": {"a": 1, "n1": 0, "n2": 0, "n3": 0}})
    world = World.of_pool([run], qrels)
    found = bounds(MEASURES["ndcg"], world.standing(run), 5)
    assert (round(found.low[0], 3), found.high[0]) == (0.850, 1.0)


def test_unjudged_documents_below_k_lower_recall_and_those_within_raise_it():
    run = make_run({"q": ["a", "x", "y", "z"]})
    world = World.of_pool([run], make_qrels({"q": {"a": 1, "far": 1}}))
    found = bounds(MEASURES["recall"], world.standing(run), 2)
    assert (found.low[0], found.high[0]) == (1 / 4, 2 / 3)


def test_a_pool_too_large_to_mark_is_the_same_world(monkeypatch):
    case = Case(3)
    monkeypatch.setattr("bench.unjudged.world.MARKED", 0)
    again = World.of_pool(case.runs, case.qrels)
    assert again.keys.tolist() == case.world.keys.tolist()
    assert again.unjudged.tolist() == case.world.unjudged.tolist()


def test_what_nobody_returned_is_not_relevant_unless_the_world_is_everything():
    run = make_run({"q": ["a"]}, docs=["b", "c", "d"])
    qrels = make_qrels({"q": {"a": 1, "d": 0}})
    recall, k = MEASURES["recall"], 1
    pool = bounds(recall, World.of_pool([run], qrels).standing(run), k)
    everything = bounds(recall, World.of_everything(run.docs, qrels).standing(run), k)
    assert (pool.low[0], everything.low[0]) == (1.0, 1 / 3)


def test_a_run_of_another_vocabulary_is_seen_by_its_ids():
    one, two = make_run({"q": ["a", "x"]}), make_run({"q": ["y", "x", "a"]})
    world = World.of_pool([one, two], make_qrels({"q": {"a": 1}}))
    assert world.unjudged.tolist() == [2]
    found = difference_bounds(MEASURES["precision"], world.standing(one), world.standing(two), 2)
    assert (found.low[0], found.high[0]) == (0.0, 1 / 2)


def test_a_query_that_a_run_lacks_is_bounded_by_what_others_found():
    run, other = make_run({"p": ["a"]}), make_run({"q": ["x", "y"]})
    world = World.of_pool([run, other], make_qrels({"p": {"a": 1}, "q": {"a": 1}}))
    found = bounds(MEASURES["ndcg"], world.standing(run), 2)
    assert (found.low.tolist(), found.high.tolist()) == ([1.0, 0.0], [1.0, 0.0])
    assert found.mean == (0.5, 0.5)


def test_two_equal_runs_differ_by_nothing_whatever_the_judgements():
    run = make_run({"q": ["a", "x", "y"]})
    standing = World.of_pool([run], make_qrels({"q": {"a": 1}})).standing(run)
    for measure in EVERY[:4]:
        found = difference_bounds(measure, standing, standing, 2)
        assert (found.low[0], found.high[0]) == (0.0, 0.0)
        assert found.decided


def test_a_sign_is_decided_where_the_bounds_of_the_mean_exclude_0():
    nan = np.nan
    assert Bounds(np.array([0.1, -0.05, nan]), np.array([0.3, 0.2, nan])).decided
    assert Bounds(np.array([-0.1]), np.array([-0.01])).decided
    assert not Bounds(np.array([-0.1]), np.array([0.1])).decided
    assert not Bounds(np.array([0.0]), np.array([0.1])).decided
    assert Bounds(np.array([nan]), np.array([nan])).mean is None


def test_rbp_is_bounded_by_its_value_and_its_residual():
    run = make_run({"q": ["a", "n", "x", "y"]})
    standing = World.of_pool([run], make_qrels({"q": {"a": 1, "n": 0}})).standing(run)
    found = bounds(parse("RBP(p=0.5)")[0], standing, 3)
    assert found.low[0] == pytest.approx(0.5)
    assert found.high[0] == pytest.approx(0.5 + 0.5 * 0.25 + 0.5**3)


@pytest.mark.parametrize("name", ["AP", "F1", "Success", "nDCG(dcg='exp-log2')", "Judged"])
def test_other_measures_have_no_bounds(name):
    run = make_run({"q": ["a"]})
    standing = World.of_pool([run], make_qrels({"q": {"a": 1}})).standing(run)
    assert bounds(parse(name)[0], standing, 1) is None
    assert difference_bounds(parse(name)[0], standing, standing, 1) is None


def test_nothing_grows_with_k_or_with_the_scale():
    qrels = make_qrels({"q": {"a": 3, "b": 1, "c": 0}})
    run, other = make_run({"q": ["x", "a", "y", "b"]}), make_run({"q": ["a", "z", "x"]})
    for top in (3.0, 1e6, 1e30):
        world = World.of_pool([run, other], qrels, max_grade=top)
        one, two = world.standing(run), world.standing(other)
        for measure in (MEASURES[name] for name in ("recall", "mrr", "ndcg")):
            near, far = bounds(measure, one, 20), bounds(measure, one, 10**12)
            assert near is not None and far is not None
            assert near.mean == pytest.approx(far.mean, abs=1e-12)
            near, far = (difference_bounds(measure, one, two, k) for k in (20, 10**12))
            assert near is not None and far is not None
            assert near.mean == pytest.approx(far.mean, abs=1e-12)


def test_a_scale_cut_at_the_grades_given_has_the_bounds_of_one_cut_at_whole_grades(monkeypatch):
    qrels = make_qrels({"q": {"a": 7, "b": 2, "c": 0, "d": 12}})
    run, other = make_run({"q": ["x", "a", "y", "b", "d"]}), make_run({"q": ["a", "z", "x", "d"]})
    world = World.of_pool([run, other], qrels, max_grade=15)
    one, two = world.standing(run), world.standing(other)
    whole = [difference_bounds(MEASURES["ndcg"], one, two, k) for k in (1, 3, 5)]
    monkeypatch.setattr("bench.unjudged.bounds.MOST_LAYERS", 8)
    given = [difference_bounds(MEASURES["ndcg"], one, two, k) for k in (1, 3, 5)]
    for before, after in zip(whole, given, strict=True):
        assert before is not None and after is not None
        assert before.mean == pytest.approx(after.mean, abs=1e-12)
