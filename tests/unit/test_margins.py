"""What a step of k and a reranker buy and cost."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.test_front import cell

from bench.statistics.figures import NEXT_K, RERANKER
from bench.statistics.intervals import difference_interval
from bench.statistics.margins import steps
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples
from bench.statistics.significance import benjamini_hochberg, paired_test

NEEDS = tuple(f"n{i:02}" for i in range(40))
RANDOM = np.random.default_rng(3)
KS = (1, 3, 5)
VALUES = {
    (name, k): np.clip(RANDOM.random((40, 2)) * 0.5 + 0.1 * k * np.array([1.0, 1.1]), 0, 1)
    for name in ("precision", "recall", "ndcg", "complete")
    for k in KS
}
PANEL = Panel(("a", "b"), NEEDS, NEEDS, VALUES)
RESAMPLES = Resamples.of(NEEDS, resamples=2_000)
CELLS = [
    cell(system, k, {"ndcg": 0.5}, ms=(1.0 if system == "a" else 4.0) + k, tokens=100.0 * k)
    for system in ("a", "b")
    for k in KS
]


def found(
    measures=("precision", "recall", "ndcg", "complete"), reranked=(("a", "b"),), panel=PANEL, cells=CELLS
):
    return steps(
        panel,
        cells,
        measures=measures,
        measure="ndcg",
        deciding="recall",
        reranked=reranked,
        resamples=RESAMPLES,
    )


def test_from_k_to_k_only_what_cannot_fall_is_compared():
    own = [step for step in found() if step.kind == NEXT_K]
    assert {step.measure for step in own} == {"recall", "complete"}
    assert [(s.system, s.from_label, s.to_label) for s in own if s.measure == "recall"] == [
        ("a", "k=1", "k=3"), ("a", "k=3", "k=5"), ("b", "k=1", "k=3"), ("b", "k=3", "k=5"),
    ]  # fmt: skip


def test_a_reranker_is_compared_at_one_k_by_every_measure():
    own = [step for step in found() if step.kind == RERANKER]
    assert [(s.without, s.system, s.k, s.measure) for s in own] == [
        ("a", "b", k, name) for k in KS for name in ("precision", "recall", "ndcg", "complete")
    ]


def test_a_step_has_its_means_interval_and_costs():
    step = next(s for s in found() if (s.kind, s.system, s.k, s.measure) == (NEXT_K, "b", 5, "recall"))
    differences = VALUES["recall", 5][:, 1] - VALUES["recall", 3][:, 1]
    interval = difference_interval(differences, RESAMPLES)
    assert step.before == pytest.approx(VALUES["recall", 3][:, 1].mean())
    assert step.difference == pytest.approx(differences.mean())
    assert interval is not None
    assert step.interval == pytest.approx((interval.lo, interval.hi))
    assert step.told_from_zero == (interval.lo > 0)
    assert step.verdict.kind == "better"
    assert (step.extra_ms, step.extra_tokens) == (2.0, 200.0)
    reranker = next(s for s in found() if s.kind == RERANKER)
    assert (reranker.extra_ms, reranker.extra_tokens) == (3.0, 0.0)


def test_steps_are_tested_at_one_measure_and_corrected_together():
    tested = [step for step in found() if step.corrected is not None]
    assert {(step.kind, step.measure) for step in tested} == {(NEXT_K, "recall"), (RERANKER, "ndcg")}
    assert {step.among for step in found()} == {len(tested)} == {7}
    pairs = [
        *(
            (VALUES["recall", b][:, i], VALUES["recall", a][:, i])
            for i in (0, 1)
            for a, b in ((1, 3), (3, 5))
        ),
        *((VALUES["ndcg", k][:, 1], VALUES["ndcg", k][:, 0]) for k in KS),
    ]
    p = [paired_test(after, before, NEEDS, family=7).p for after, before in pairs]
    assert [step.corrected for step in tested] == pytest.approx(benjamini_hochberg(np.array(p)).tolist())


def test_a_query_counts_where_both_sides_have_it():
    values = {key: matrix.copy() for key, matrix in VALUES.items()}
    values["recall", 5][:30] = np.nan
    step = next(s for s in found(panel=Panel(("a", "b"), NEEDS, NEEDS, values)) if s.to_label == "k=5")
    assert step.verdict.evidence.needs == 10
    assert step.before == pytest.approx(VALUES["recall", 3][30:, 0].mean())


def test_a_system_that_lacks_a_k_steps_over_it():
    cells = [one for one in CELLS if (one.system, one.k) != ("a", 3)]
    own = [s for s in found(cells=cells) if s.kind == NEXT_K and s.system == "a" and s.measure == "recall"]
    assert [(s.from_label, s.to_label, s.extra_tokens) for s in own] == [("k=1", "k=5", 400.0)]


def test_untimed_steps_have_no_milliseconds():
    cells = [cell(system, k, {"ndcg": 0.5}) for system in ("a", "b") for k in KS]
    assert {step.extra_ms for step in found(cells=cells)} == {None}


def test_one_k_and_no_reranker_give_no_step():
    assert found(reranked=(), cells=[cell("a", 5, {"ndcg": 0.5})]) == ()
