"""Rules of a gate: kept, breached or undecided, by figures that say so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import BenchError
from bench.metrics import MEASURES
from bench.statistics.resampling import Resamples
from bench.statistics.rules import BREACH, PASS, UNDECIDED, Gate, Outcome, Rule, against_limit, no_worse
from bench.statistics.verdicts import evidence
from bench.verbs.gate_request import request

NDCG = MEASURES["ndcg"]
LOSS = Rule("no-worse-than", "ndcg", NDCG, 5, 0.02)
NEEDS = [f"n{i}" for i in range(60)]


def rule(kind="min", limit=0.7) -> Rule:
    return Rule(kind, "ndcg", NDCG, 5, limit)


def rules(*words) -> list[tuple]:
    return [(one.kind, one.column, one.k, one.limit) for one in request(["outputs/x", *words]).rules]


@given(value=st.floats(0, 1), limit=st.floats(0, 1))
def test_a_limit_is_kept_on_its_own_side_and_at_it(value, limit):
    low, high = against_limit(rule("min", limit), value), against_limit(rule("max", limit), value)
    assert (low.kind == PASS) == (value >= limit - 1e-12)
    assert (high.kind == PASS) == (value <= limit + 1e-12)
    assert {low.kind, high.kind} <= {PASS, BREACH}


def test_a_mean_that_rounding_took_below_its_limit_keeps_it():
    assert sum([0.1] * 8) < 0.8
    assert against_limit(rule(limit=0.8), sum([0.1] * 8)).kind == PASS


def test_a_breach_says_how_far_the_figure_is_from_its_limit():
    assert against_limit(rule(), 0.6156).said == "0.6156, 0.0844 short"
    assert against_limit(rule("max", 50), 81.25).said == "81.25, 31.25 over"
    assert against_limit(rule("max", 50), 12345.6).said == "12346, 12296 over"


@settings(max_examples=25)
@given(shift=st.floats(-0.2, 0.2), seed=st.integers(0, 20))
def test_no_worse_than_follows_the_bound_and_the_interval(shift, seed):
    differences = np.random.default_rng(seed).normal(shift, 0.1, len(NEEDS)).clip(-1, 1)
    shown = evidence(differences[:, np.newaxis], Resamples.of(NEEDS), epsilon=0.02)[0]
    kind = no_worse(LOSS, differences, NEEDS, against="old").kind
    assert (kind == PASS) == (shown.bound > -0.02)
    assert (kind == BREACH) == (shown.interval.hi < -0.02)


@pytest.mark.parametrize(("shift", "kind"), [(0.1, PASS), (-0.2, BREACH), (-0.02, UNDECIDED)])
def test_each_outcome_of_no_worse_than_has_its_figures(shift, kind):
    differences = np.tile([-0.1, 0.1], 30) + shift
    found = no_worse(LOSS, differences, NEEDS, against="faiss of outputs/old")
    assert found.kind == kind
    assert found.said.startswith(f"{shift:+.4f} against faiss of outputs/old (95 %: ")
    assert ("About" in found.said) == (kind == UNDECIDED)


def test_too_few_needs_are_undecided_and_queries_without_a_value_do_not_count():
    few = no_worse(LOSS, np.array([0.1] * 9 + [math.nan] * 51), NEEDS, against="old")
    assert few.kind == UNDECIDED
    assert few.said.startswith("9 needs are too few to tell it from old.")


def test_a_gate_stops_at_a_breach_and_at_what_is_undecided_unless_that_passes():
    outcomes = tuple(Outcome(rule(), kind, "") for kind in (PASS, UNDECIDED))
    strict, lenient = (Gate("outputs/x", "faiss", "aurora", outcomes, passes) for passes in (False, True))
    breached = Gate("outputs/x", "faiss", "aurora", (Outcome(rule(), BREACH, ""),), True)
    assert [gate.passed for gate in (strict, lenient, breached)] == [False, True, False]
    assert strict.sentence == "faiss on aurora (outputs/x) does not pass: of 2 rules 1 undecided, 1 kept"
    assert breached.sentence == "faiss on aurora (outputs/x) does not pass: of 1 rule 1 breached"


def test_rules_are_measures_or_columns_of_the_grid():
    assert rules("--min", "nDCG@5=0.70", "--min", "recall=.5", "--max", "latency_p95_ms@10=50") == [
        ("min", "ndcg", 5, 0.7), ("min", "recall", None, 0.5), ("max", "latency_p95_ms", 10, 50.0),
    ]  # fmt: skip
    assert rules("--min", "nDCG(dcg='exp-log2')@5=0.7", "--min-lo", "latency_p95_ms=1") == [
        ("min", "ndcg_exp", 5, 0.7), ("min-lo", "latency_p95_ms", None, 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--min", "nDCG@5"], "it is written NAME=LIMIT, as nDCG@5=0.70"),
        (["--min", "nDCG@5=high"], "'high' is no number"),
        (["--min", "nDCG@5=nan"], "'nan' is no number"),
        (["--min", "nDGC@5=0.7"], "did you mean 'nDCG'?"),
        (["--max", "latency_p59_ms=5"], "there is no column 'latency_p59_ms'; did you mean 'latency_p9"),
        (["--max", "latency_p95_ms@x=5"], "'x' is no k"),
        (["--max", "latency_p95_ms@0=50"], "a cut-off is at least 1"),
        (["--min", "P(rel=2)@5=0.7"], "P(rel=2) is not in the grid"),
        (["--min-lo", "index_bytes=5"], "index_bytes has no interval"),
        (
            ["--no-worse-than", "nDCG@5=2", "--against", "y"],
            "a loss that would not be missed is above 0 and below 1",
        ),
        (
            ["--no-worse-than", "latency_p95_ms@5=0.5", "--against", "y"],
            "it compares a measure query by query",
        ),
    ],
)
def test_what_is_no_rule_is_refused(words, said):
    with pytest.raises(BenchError) as caught:
        rules(*words)
    assert said in str(caught.value)


def test_all_wrong_rules_are_told_at_once():
    with pytest.raises(BenchError, match=r"(?s)--min x: .*--max y: "):
        rules("--min", "x", "--max", "y")
