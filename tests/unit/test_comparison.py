"""Before and after as a person reads it: the family, what is exploratory, and what is said of each change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import make_run

from bench.errors import BenchError
from bench.grid import per_query_table
from bench.metrics import MEASURES
from bench.statistics.change import FELL, ROSE, STAYED, p_text
from bench.statistics.comparison import Comparison, compare, hand_on_the_same
from bench.statistics.intervals import difference_interval
from bench.statistics.moved import moved
from bench.statistics.panel import Panel
from bench.statistics.power import power
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, holm, paired_test
from bench.statistics.standings import standings

NDCG, RECALL, PRECISION, MRR = (MEASURES[name] for name in ("ndcg", "recall", "precision", "mrr"))


def table(cells: dict[tuple[str, int], dict[str, np.ndarray]]) -> pa.Table:
    """A per-query table from `{(system, k): {measure: values by query}}`."""
    rows: dict[str, list] = {}
    names = {name for measures in cells.values() for name in measures}
    for (system, k), measures in cells.items():
        count = len(next(iter(measures.values())))
        given = {
            "system_id": [f"id of {system}"] * count,
            "collection": ["c"] * count,
            "seed": [0] * count,
            "query_id": [f"q{i:03}" for i in range(count)],
            "k": [k] * count,
            **{name: list(measures.get(name, [None] * count)) for name in names},
        }
        for name, values in given.items():
            rows.setdefault(name, []).extend(values)
    return per_query_table(rows)


def panel_of(
    cells: dict[tuple[str, int], dict[str, np.ndarray]], needs: dict[str, str] | None = None
) -> Panel:
    labels = {f"id of {system}": system for system, _ in cells}
    return Panel.of(table(cells), needs or {}, systems=labels)


def compared(panel: Panel, measure=NDCG, k=10, baseline="faiss", **options) -> Comparison:
    return compare(
        panel, measure, k=k, baseline=baseline, resamples=Resamples.of(panel.needs, resamples=500), **options
    )


def around(mean: float, spread: float = 0.1, count: int = 60, seed: int = 0) -> np.ndarray:
    """Values with exactly this mean."""
    values = np.random.default_rng(seed).uniform(-spread, spread, count)
    return values - values.mean() + mean


@pytest.fixture(scope="module")
def course() -> Panel:
    """The course's before and after: a reranker over the same candidates."""
    recall = around(0.80, 0.2)
    return panel_of(
        {
            ("faiss", 5): {"precision": around(0.65), "mrr": around(0.55, seed=2)},
            ("faiss+reranker", 5): {"precision": around(0.78, seed=1), "mrr": around(0.68, seed=3)},
            ("faiss", 10): {"recall": recall, "ndcg": around(0.70, seed=4)},
            ("faiss+reranker", 10): {"recall": recall, "ndcg": around(0.82, seed=5)},
        }
    )


# The worked example.


def test_the_course_s_comparison_says_what_rose_in_points_and_relative(course):
    comparison = compared(course, same_documents={("faiss+reranker", 10)})
    said = {change.measure: change for change in comparison.of("faiss+reranker")}

    assert said["P@5"].amount == "+13.0 points, +20.0 %"
    assert said["RR@5"].amount == "+13.0 points, +23.6 %"
    assert said["nDCG@10"].amount == "+12.0 points, +17.1 %"
    assert said["P@5"].sentence.startswith(
        "P@5 rose from 0.650 to 0.780: +13.0 points, +20.0 % relative (95 %: +"
    )
    assert {name: change.direction for name, change in said.items()} == {
        "nDCG@10": ROSE, "P@5": ROSE, "RR@5": ROSE, "R@10": STAYED,
    }  # fmt: skip


def test_recall_that_did_not_move_is_explained_where_both_hand_on_the_same_documents(course):
    known, unknown = (
        next(
            change for change in compared(course, same_documents=same).exploratory if change.name == "recall"
        )
        for same in ({("faiss+reranker", 10)}, ())
    )
    assert known.sentence == (
        "R@10 did not move: 0.800 before and after, for both hand on the same 10 documents for every query, and a "
        "reranker over the same candidates cannot change recall at their depth."
    )
    assert unknown.sentence == "R@10 did not move: 0.800 before and after, the same on every query."


def test_whether_documents_are_the_same_is_looked_up_query_by_query():
    one = make_run({"q1": ["a", "b", "c"], "q2": ["a", "b", "c"]})
    reordered = make_run({"q1": ["b", "a", "c"], "q2": ["a", "b", "c"]})
    shorter = make_run({"q1": ["b", "a"], "q2": ["a", "b", "c"]}, docs="c")

    assert hand_on_the_same(one, reordered, k=2)
    assert not hand_on_the_same(one, reordered, k=1)
    assert hand_on_the_same(one, shorter, k=2)
    assert not hand_on_the_same(one, shorter, k=3)


def test_the_course_s_comparison_is_summed_up_with_its_family(course):
    assert compared(course).sentence == (
        "nDCG@10 against faiss: faiss+reranker rose. The family is this one test of nDCG@10, at the level 0.05."
    )
    assert compared(course).exploratory_sentence.startswith(
        "Exploratory: 3 more tests, of other measures and k"
    )


# The family and what stands outside it.


@pytest.fixture(scope="module")
def sweep() -> Panel:
    random = np.random.default_rng(7)
    ease = random.uniform(0.2, 0.6, 50)
    cells = {}
    for system, gain in {"bm25": -0.05, "faiss": 0.0, "hybrid": 0.03, "hybrid+reranker": 0.12}.items():
        for k in (5, 10):
            values = {
                name: np.clip(ease + gain + random.normal(0, 0.1, 50), 0, 1) for name in ("ndcg", "recall")
            }
            cells[system, k] = values
    return panel_of(cells, {f"q{i:03}": f"n{i // 2}" for i in range(50)})


def test_the_family_is_every_other_system_at_one_measure_and_k_by_holm(sweep):
    comparison = compared(sweep)
    values = sweep.at(NDCG, 10)
    tests = [paired_test(values[:, i], values[:, 1], sweep.needs, family=3) for i in (0, 2, 3)]

    assert [change.system for change in comparison.family] == ["bm25", "hybrid", "hybrid+reranker"]
    assert {change.measure for change in comparison.family} == {"nDCG@10"}
    assert [change.test.p for change in comparison.family] == [test.p for test in tests]
    assert [change.corrected for change in comparison.family] == pytest.approx(
        holm(np.array([t.p for t in tests]))
    )
    assert "p < 0.001, Holm over a family of 3 tests" in comparison.family[2].sentence
    assert "The family is 3 tests" in comparison.sentence


def test_everything_else_is_exploratory_and_corrected_together(sweep):
    rows = compared(sweep).exploratory

    assert [(row.system, row.measure) for row in rows[:3]] == [
        ("bm25", "R@5"),
        ("bm25", "R@10"),
        ("bm25", "nDCG@5"),
    ]
    assert len(rows) == 3 * 3
    assert all(row.exploratory for row in rows)
    assert [row.corrected for row in rows] == pytest.approx(
        benjamini_hochberg(np.array([row.test.p for row in rows]))
    )
    assert "exploratory (Benjamini-Hochberg over 9 tests)" in rows[0].sentence


def test_a_change_holds_its_means_and_the_interval_of_their_difference(sweep):
    change = compared(sweep).family[2]
    before, after = sweep.at(NDCG, 10)[:, [1, 3]].T

    assert (change.before, change.after) == pytest.approx((before.mean(), after.mean()))
    assert change.relative == pytest.approx(after.mean() / before.mean() - 1)
    assert change.interval == difference_interval(after - before, Resamples.of(sweep.needs, resamples=500))
    assert change.test.wins == (after > before).sum()


def test_what_could_have_been_shown_stands_beside_each_change_of_the_family(sweep):
    values = sweep.at(NDCG, 10)
    assert compared(sweep).powers[0] == power(values[:, 0] - values[:, 1], sweep.needs, family=3)


def test_not_significant_is_not_called_equal(sweep):
    comparison = compared(sweep, alpha=0.001, shown=[])
    hybrid = comparison.family[1]

    assert not hybrid.significant
    assert ", which chance alone can explain; p = " in hybrid.sentence
    assert (
        "no difference is shown for bm25 and hybrid (which is not to say that they are equal)"
        in comparison.sentence
    )


def test_a_fall_is_said_as_one(sweep):
    turned = compared(sweep, baseline="hybrid+reranker")
    assert [change.direction for change in turned.family] == [FELL] * 3
    assert turned.sentence.startswith(
        "nDCG@10 against hybrid+reranker: bm25, faiss and hybrid fell. The family"
    )


def test_the_same_request_gives_the_same_values(sweep):
    assert compared(sweep) == compared(sweep)


def test_other_measures_can_be_shown(sweep):
    assert {row.name for row in compared(sweep, shown=[RECALL]).exploratory} == {"recall"}
    alone = compared(sweep, shown=[])
    assert (alone.exploratory, alone.exploratory_sentence) == ((), "")


def test_a_measure_without_k_is_shown_once():
    values = {"ndcg": around(0.5), "r_precision": around(0.4, seed=1)}
    panel = panel_of({(system, k): values for system in ("faiss", "other") for k in (5, 10)})
    rows = compared(panel, shown=[MEASURES["r_precision"]]).exploratory
    assert [row.measure for row in rows] == ["Rprec"]
    assert compared(panel, MEASURES["r_precision"], shown=[MEASURES["r_precision"]]).exploratory == ()


# Changes at the edges.


def two(before, after, name: str = "ndcg") -> Comparison:
    values = [np.asarray(values, float) for values in (before, after)]
    panel = panel_of({("faiss", 10): {name: values[0]}, ("other", 10): {name: values[1]}})
    return compared(panel, MEASURES[name])


def test_a_mean_that_stays_while_queries_move_is_not_called_the_same():
    change = two([0.2, 0.4, 0.6], [0.4, 0.2, 0.6]).family[0]
    assert (
        change.sentence == "nDCG@10 did not move: 0.400 before and after, though 1 query gained and 1 lost."
    )


def test_from_nothing_there_is_no_relative_change():
    change = two([0.0] * 12, around(0.3, count=12)).family[0]
    assert change.relative is None
    assert change.amount == "+30.0 points"
    assert "rose from 0.000 to 0.300: +30.0 points (95 %" in change.sentence


def test_too_few_needs_have_neither_interval_nor_significance():
    change = two([0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.2, 0.5]).family[0]
    assert change.interval is None
    assert "95 %" not in change.sentence
    assert "no result can be significant: only 4 needs differ" in change.sentence


def test_queries_without_both_values_are_left_out_of_both_means():
    change = two([0.1, np.nan, 0.3], [0.2, 0.9, np.nan]).family[0]
    assert (change.before, change.after) == (0.1, 0.2)
    assert (change.test.queries, change.test.left_out) == (1, 2)


def test_a_system_without_values_is_in_no_correction_and_said_to_have_none():
    panel = panel_of(
        {
            ("faiss", 10): {"ndcg": around(0.5)},
            ("other", 10): {"ndcg": around(0.53, seed=1)},
            ("third", 5): {"ndcg": around(0.5)},
        }
    )
    comparison = compared(panel)
    other, third = comparison.family

    assert other.corrected == other.test.p
    assert not third.significant
    assert third.sentence == "nDCG@10: no query has a value from both."
    assert third.relative is None
    assert "The family is this one test" in comparison.sentence


def test_a_p_is_never_printed_as_0():
    assert [p_text(p) for p in (0.00009, 0.001, 0.0312, 1.0)] == ["< 0.001", "= 0.001", "= 0.031", "= 1.000"]


def test_a_change_that_rounds_to_nothing_has_a_plus():
    change = dataclasses.replace(two([0.5] * 3, [0.5] * 3).family[0], after=0.4999999)
    assert change.amount == "+0.0 points, +0.0 %"


# Requests that cannot be met.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"baseline": "fais"}, "there is no system 'fais'; did you mean 'faiss'"),
        ({"k": 3}, "there are no values of nDCG@3; k was 5, 10"),
        ({"measure": PRECISION}, "there are no values of P"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(sweep, options, said):
    with pytest.raises(BenchError, match=said):
        compared(sweep, **options)


def test_one_system_has_nothing_to_be_compared_with():
    with pytest.raises(BenchError, match="no system to compare with faiss"):
        compared(panel_of({("faiss", 10): {"ndcg": around(0.5)}}))


# The panel.


def test_a_panel_has_its_queries_in_order_and_holes_where_values_are_missing():
    rows = table({("b", 5): {"ndcg": np.array([0.1, np.nan])}, ("a", 5): {"ndcg": np.array([0.3])}})
    shuffled = rows.take([2, 1, 0])
    panel = Panel.of(shuffled, {"q001": "n"}, systems={"id of a": "a", "id of b": "b"})

    assert panel.systems == ("a", "b")
    assert panel.queries == ("q000", "q001")
    assert panel.needs == ("q000", "n")
    assert np.array_equal(panel.at(NDCG, 5), [[0.3, 0.1], [np.nan, np.nan]], equal_nan=True)
    assert (panel.measures, panel.ks("ndcg")) == (("ndcg",), (5,))


def test_systems_that_are_not_asked_for_and_budgets_are_left_out():
    rows = table({("a", 5): {"ndcg": np.array([0.3])}, ("b", 5): {"ndcg": np.array([0.1])}})
    budget = rows.set_column(rows.column_names.index("k"), "k", pa.array([None, 5], pa.int64()))

    assert Panel.of(rows, {}, systems={"id of b": "b"}).at(NDCG, 5).tolist() == [[0.1]]
    assert np.isnan(Panel.of(budget, {}, systems={"id of a": "a", "id of b": "b"}).at(NDCG, 5)[0, 0])


def test_two_seeds_of_one_system_are_no_panel():
    rows = table({("a", 5): {"ndcg": np.array([0.3])}})
    with pytest.raises(ValueError, match="one collection and one seed"):
        Panel.of(pa.concat_tables([rows, rows]), {}, systems={"id of a": "a"})


# Queries and standings.


def test_the_queries_that_moved_most_are_named_with_the_farthest_first():
    panel = panel_of(
        {
            ("faiss", 5): {"ndcg": np.array([0.5, 0.5, 0.5, 0.5, np.nan, 0.5])},
            ("other", 5): {"ndcg": np.array([0.6, 0.9, 0.1, 0.5, 1.0, 0.9])},
        },
        {"q002": "need"},
    )
    found = moved(panel, NDCG, k=5, system="other", baseline="faiss", most=2)

    assert [change.query for change in found.gained] == ["q001", "q005"]
    assert [(change.query, change.need, change.difference) for change in found.lost] == [
        ("q002", "need", -0.4)
    ]


def test_standings_are_by_mean_with_the_set_the_share_and_the_winner(sweep):
    found = standings(sweep, NDCG, k=10, resamples=Resamples.of(sweep.needs, resamples=500))

    assert [place.system for place in found.places] == ["hybrid+reranker", "hybrid", "faiss", "bm25"]
    assert [place.can_be_best for place in found.places] == [True, False, False, False]
    assert sum(place.best_share for place in found.places) == pytest.approx(1)
    assert found.winner.apparent == found.places[0].mean
    assert found.sentence == "nDCG@10: hybrid+reranker is the best of 4 systems on 50 queries (25 needs)"


def test_standings_need_a_query_with_a_value_from_every_system():
    panel = panel_of({("a", 5): {"ndcg": np.array([0.5])}, ("b", 10): {"ndcg": np.array([0.5])}})
    assert standings(panel, NDCG, k=5, resamples=Resamples.of(panel.needs, resamples=10)) is None
