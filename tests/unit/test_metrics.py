"""The worked examples of the course, and what other tools got wrong, to the printed digit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import make_qrels, make_run

from bench.evaluate import evaluate
from bench.gains import RELEVANT, Gains
from bench.metrics import MEASURES


def value(measure: str, k: int, judgements, ranking, **parts) -> float:
    run = make_run({"q": ranking})
    found = evaluate(run, make_qrels({"q": judgements}, **parts), ks=[k], measures=[MEASURES[measure]])
    return float(found.values[measure, k][0])


def rounded(measure, k, judgements, ranking):
    return round(value(measure, k, judgements, ranking), 3)


def test_example_a_two_relevant_at_ranks_1_and_4():
    judged, run = {"r1": 1, "r2": 1}, ["r1", "x", "y", "r2", "z"]
    assert [rounded(m, 5, judged, run) for m in ("precision", "recall", "mrr", "ndcg")] == [
        0.4,
        1.0,
        1.0,
        0.877,
    ]
    moved = ["r1", "r2", "x", "y", "z"]
    assert [rounded(m, 5, judged, moved) for m in ("precision", "recall", "mrr", "ndcg")] == [
        0.4,
        1.0,
        1.0,
        1.0,
    ]
    assert rounded("precision", 5, judged, ["x", "y", "z", "r1", "r2"]) == 0.4


def test_example_b_the_ideal_is_over_all_judged_documents_and_the_courses_variant_has_its_own_name():
    judged, run = {"r1": 1, "r2": 1, "r3": 1}, ["x", "r1", "r2", "y"]
    assert [rounded(m, 4, judged, run) for m in ("precision", "recall", "mrr")] == [0.5, 0.667, 0.5]
    assert value("ndcg", 4, judged, run) == pytest.approx(0.5307, abs=5e-5)
    assert value("ndcg_retrieved", 4, judged, run) == pytest.approx(0.6934, abs=5e-5)


def test_example_c_recall_at_two_cut_offs():
    judged, run = {"12": 1, "34": 1, "56": 1}, ["12", "78", "34", "90", "56"]
    assert [rounded("precision", 5, judged, run), rounded("recall", 5, judged, run)] == [0.6, 1.0]
    assert value("recall", 3, judged, run) == pytest.approx(2 / 3)


def test_example_d_the_mean_of_reciprocal_ranks():
    run = make_run({"a": ["r"], "b": ["x", "y", "r"], "c": ["x", "r"]})
    qrels = make_qrels({query: {"r": 1} for query in "abc"})
    assert round(evaluate(run, qrels, ks=[5], measures=[MEASURES["mrr"]]).mean("mrr", 5), 3) == 0.611


def test_example_e_graded_gains_are_linear():
    assert rounded("ndcg", 3, {"A": 3, "B": 2, "C": 1, "D": 0}, ["B", "D", "A"]) == 0.735


def test_example_f_a_larger_k_costs_precision():
    judged = {"r1": 1, "r2": 1, "r3": 1}
    run = ["r1", "x", "r2", "y", "z", "r3", "s", "t", "u", "v"]
    assert [rounded("precision", 3, judged, run), rounded("recall", 3, judged, run)] == [0.667, 0.667]
    assert [rounded("precision", 10, judged, run), rounded("recall", 10, judged, run)] == [0.3, 1.0]


def test_the_ideal_is_not_cut_to_what_came_back():
    judged = {f"dev_{i}": 3 for i in range(1, 6)}
    late = ["x1", "x2", "x3", "x4", "x5", *judged]
    assert value("ndcg", 10, judged, ["dev_1"]) == pytest.approx(0.3392, abs=5e-5)
    assert value("ndcg", 10, judged, late) == pytest.approx(0.5410, abs=5e-5)


def test_the_ideal_is_cut_at_k_and_holds_documents_that_were_not_found():
    assert value("ndcg", 2, {"a": 3, "b": 3}, ["x", "a"]) == pytest.approx(0.3869, abs=5e-5)
    twelve = {f"d{i:02}": 1 for i in range(12)}
    assert value("ndcg", 10, twelve, sorted(twelve)[:10]) == pytest.approx(1.0)


def test_linear_gain_of_a_reversed_ranking():
    assert value("ndcg", 3, {"a": 3, "b": 2, "c": 1}, ["c", "b", "a"]) == pytest.approx(0.7900, abs=5e-5)


@pytest.mark.parametrize(("rank", "expected"), [(1, 1.0), (2, 0.6309), (3, 0.5)])
def test_the_discount_starts_at_rank_one(rank, expected):
    run = ["x", "y", "z"]
    run[rank - 1] = "r"
    assert value("ndcg", 3, {"r": 1}, run) == pytest.approx(expected, abs=5e-5)


def test_rank_is_not_lost():
    assert value("mrr", 5, {"r": 1}, ["x", "r"]) == 0.5


def test_equal_scores_go_by_id_descending_whatever_the_order_of_the_input():
    ids = ["dev-plazo", "env-coste", "gar-dos"]
    for order in (ids, ids[::-1], [ids[1], ids[0], ids[2]]):
        run = dict.fromkeys(order, 0.7)
        assert value("mrr", 3, {"dev-plazo": 1}, run) == pytest.approx(1 / 3)
        assert value("ndcg", 3, {"dev-plazo": 1}, run) == pytest.approx(0.5)


def test_scores_are_compared_in_double_precision():
    assert value("mrr", 5, {"a": 1}, {"a": 0.30000001192092896, "z": 0.3}) == 1.0


def test_the_reciprocal_rank_is_cut_at_k():
    run = [f"x{i:02}" for i in range(10)] + ["r"]
    assert value("mrr", 10, {"r": 1}, run) == 0.0
    assert value("mrr", 11, {"r": 1}, run) == pytest.approx(0.0909, abs=5e-5)


def test_k_above_what_came_back_still_divides_by_k():
    judged = {"a": 1, "b": 1, "c": 0}
    assert value("precision", 5, judged, ["a", "c", "b"]) == 0.4
    assert value("recall", 5, judged, ["a", "c", "b"]) == 1.0


def test_a_fractional_grade_keeps_its_gain_and_is_not_relevant():
    assert value("ndcg", 2, {"a": 0.9, "b": 1}, ["b", "a"]) == pytest.approx(1.0)
    assert value("ndcg", 2, {"a": 0.9, "b": 1}, ["a", "b"]) < 1.0
    assert value("precision", 2, {"a": 0.9, "b": 1}, ["a", "b"]) == 0.5


def test_a_negative_grade_gives_no_gain():
    assert value("ndcg", 2, {"a": -2, "b": 1}, ["a", "b"]) == value("ndcg", 2, {"a": 0, "b": 1}, ["a", "b"])


def test_a_query_id_that_is_a_document_id_is_not_removed():
    run = make_run({"12": ["12", "x"]})
    found = evaluate(run, make_qrels({"12": {"12": 1}}), ks=[1], measures=[MEASURES["mrr"]])
    assert found.values["mrr", 1][0] == 1.0


def test_every_measure_works_on_one_query_as_on_many():
    run = make_run({"a": ["r", "x", "s"], "b": ["y"]})
    found = evaluate(run, make_qrels({"a": {"r": 2, "s": 1, "x": 0}, "b": {"y": 1}}), ks=[2], measures=[])
    one = Gains(found.gains.ranked[0], found.gains.status[0], found.gains.ideal[0], found.gains.max_grade)
    for measure in MEASURES.values():
        assert measure(one, 2) == measure(found.gains, 2)[0]


@pytest.mark.parametrize("rel", [1, 2, 0.5])
def test_what_is_counted_once_is_right_at_every_cut_off_and_in_every_part(rel):
    random = np.random.default_rng(3)
    ranked = random.choice([0.0, 0.5, 1.0, 2.0], (50, 7))
    ideal = -np.sort(-ranked, axis=1)
    gains = Gains(ranked, np.full(ranked.shape, RELEVANT, np.int8), ideal)
    relevant = ranked >= rel
    for part in (gains, gains.top(4), gains.top(9)):
        for k in (1, 3, 4):
            assert part.found(k, rel=rel).tolist() == relevant[:, :k].sum(axis=1).tolist()
        depth = part.ranked.shape[1]
        assert part.found(20, rel=rel).tolist() == relevant[:, :depth].sum(axis=1).tolist()
        first = [line.tolist().index(True) + 1 if line.any() else np.inf for line in relevant[:, :depth]]
        assert part.first(rel=rel).tolist() == first
        assert part.total(rel=rel).tolist() == relevant.sum(axis=1).tolist()
    one = Gains(ranked[0], gains.status[0], ideal[0])
    assert one.found(3, rel=rel) == gains.found(3, rel=rel)[0]


def test_nothing_judged_among_nothing_returned_has_no_share():
    run = make_run({"q": []}, docs=["a"])
    found = evaluate(run, make_qrels({"q": {"a": 1}}), ks=[3], measures=[MEASURES["judged"]])
    assert np.isnan(found.values["judged", 3][0])


class TestComplete:
    parts = {"q": {"base": ["a", "b"], "exception": ["c"]}}  # noqa: RUF012
    judged = {"a": 2, "b": 2, "c": 2, "d": 1}  # noqa: RUF012

    def test_it_asks_one_document_of_each_part(self):
        assert value("complete", 2, self.judged, ["a", "c"], **self.parts) == 1.0
        assert value("complete", 2, self.judged, ["a", "b", "c"], **self.parts) == 0.0
        assert value("complete", 3, self.judged, ["a", "b", "c"], **self.parts) == 1.0

    def test_without_parts_it_asks_all_relevant_documents(self):
        assert value("complete", 3, self.judged, ["a", "b", "c"]) == 0.0
        assert value("complete", 4, self.judged, ["a", "b", "c", "d"]) == 1.0

    def test_a_query_that_is_not_listed_has_one_part_and_any_answer_covers_it(self):
        parts = {"other": {"base": ["a"]}}
        assert value("complete", 1, {"a": 2, "b": 2}, ["b"], **parts) == 1.0
        assert value("complete", 1, {"a": 2, "b": 1}, ["b"], **parts) == 0.0

    def test_a_query_without_an_answer_is_left_out(self):
        assert np.isnan(value("complete", 1, {"b": 1}, ["b"], other={"base": ["a"]}))

    def test_a_part_that_names_a_document_outside_the_collection_cannot_be_covered_by_an_empty_place(self):
        run = make_run({"q": ["a"]}, docs=["a", "b"])
        qrels = make_qrels({"q": {"a": 2, "gone": 2}}, q={"base": ["a"], "rest": ["gone"]})
        assert evaluate(run, qrels, ks=[5], measures=[MEASURES["complete"]]).values["complete", 5][0] == 0.0
