"""The k advised and the verdict on a change: what is shown, what is not, and how many queries would show it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from tests.conftest import make_qrels

from bench.statistics.advice import advised_k, deciding_measure
from bench.statistics.resampling import Resamples
from bench.statistics.verdicts import evidence, verdict


def alone(count: int) -> Resamples:
    return Resamples.of([f"{i:04}" for i in range(count)], resamples=2000)


def losing(count: int, losers: int, loss: float = 1.0) -> np.ndarray:
    """Values 1, and so many of them less by the loss."""
    return np.repeat([1.0 - loss, 1.0], [losers, count - losers])


def advice(count: int, losers: dict[int, int], **options):
    """At each k so many of `count` queries lose everything."""
    return advised_k({k: losing(count, n) for k, n in losers.items()}, alone(count), measure="R", **options)


def judged(differences: np.ndarray, **options):
    return verdict(
        differences, alone(len(differences)), subject="reranker=overlap", measure="nDCG@5", **options
    )


def noise(count: int, mean: float, sd: float) -> np.ndarray:
    """Differences with exactly this mean and standard deviation."""
    values = np.random.default_rng(0).uniform(-1, 1, count)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


# The k.


def test_the_k_advised_is_the_smallest_that_is_no_worse_than_the_largest():
    found = advice(400, {1: 90, 3: 30, 5: 2, 10: 1, 20: 0})
    assert found.k == 5
    assert [one.kind for one in found.smaller] == ["worse", "worse", "no worse", "no worse"]
    assert [one.loss for one in found.smaller] == pytest.approx([0.225, 0.075, 0.005, 0.0025])
    assert found.sentence.startswith(
        "Take k=5: R@5 loses 0.005 against R@20, and less than 0.02 with 95 % confidence"
    )
    assert found.sentence.endswith(
        "Smaller k: R@3 loses 0.075 against R@20, more than 0.02 with 95 % confidence."
    )


def test_the_order_in_which_k_are_given_does_not_matter():
    assert advice(400, {20: 0, 1: 90, 5: 2}) == advice(400, {1: 90, 5: 2, 20: 0})


def test_where_every_smaller_k_loses_more_than_epsilon_the_largest_is_taken():
    found = advice(400, {5: 90, 10: 30, 20: 0})
    assert found.k == 20
    assert found.sentence == (
        "Take k=20, the largest one swept: R@10 loses 0.075 against R@20, more than 0.02 with 95 % confidence. "
        "A larger one was not tried."
    )


def test_what_is_shown_neither_way_is_undecided_and_says_how_many_queries_are_needed():
    found = advice(400, {5: 90, 10: 6, 20: 0})
    assert found.k is None
    undecided = found.smaller[-1]
    assert undecided.kind == "undecided"
    more = undecided.evidence.more.needs
    assert found.sentence.startswith("Undecided: R@10 loses 0.015 against R@20, and up to 0.0")
    assert f"About {more} more queries are needed" in found.sentence


def test_no_loss_seen_is_no_proof_before_149_needs():
    # By the rule of three: 0 of n leaves up to 3/n open, exactly 1 - 0.05 ** (1 / n).
    assert advice(148, {5: 0, 10: 0}).k is None
    assert advice(148, {5: 0, 10: 0}).smaller[0].evidence.more.needs == 1
    assert advice(149, {5: 0, 10: 0}).k == 5


def test_below_an_undecided_k_nothing_smaller_is_taken():
    # At 3 the loss is as large in mean, and shown to be small; chance alone can do that.
    values = {3: losing(400, 40, 0.1), 5: losing(400, 5), 10: losing(400, 0)}
    found = advised_k(values, alone(400), measure="R")
    assert [one.kind for one in found.smaller] == ["no worse", "undecided"]
    assert found.k is None


def test_epsilon_is_the_loss_that_would_not_be_missed():
    assert advice(400, {5: 20, 10: 0}, epsilon=0.1).k == 5
    assert advice(400, {5: 20, 10: 0}, epsilon=0.02).k != 5
    with pytest.raises(ValueError, match="epsilon is between 0 and 1"):
        advice(400, {5: 20, 10: 0}, epsilon=0)


def test_one_k_alone_is_no_choice():
    found = advice(400, {5: 3})
    assert found.k is None
    assert found.sentence == "k=5 is the only one swept, so it can't be said whether a smaller k is enough."


def test_with_fewer_than_ten_needs_no_k_is_advised():
    found = advice(9, {5: 0, 10: 0})
    assert found.k is None
    assert found.sentence.startswith(
        "With 9 needs it can't be said which k is enough: 10 are the least. About 140 more"
    )


def test_queries_left_out_at_one_k_are_left_out():
    values = {5: losing(400, 2), 10: losing(400, 0)}
    values[5][:2] = np.nan
    assert advised_k(values, alone(400), measure="R").smaller[0].loss == 0


def test_k_is_advised_on_complete_where_answers_have_parts_and_else_on_recall():
    judgements = {"q": {"a": 2, "b": 2}}
    assert deciding_measure(make_qrels(judgements)).at(5) == "R@5"
    assert (
        deciding_measure(make_qrels(judgements, q={"rule": ["a"], "exception": ["b"]})).at(5) == "Complete@5"
    )


# The verdict.


@pytest.mark.parametrize(
    ("mean", "sd", "kind", "sentence"),
    [
        (0.08, 0.2, "better", "reranker=overlap is better: nDCG@5 changes by +0.080 (95 %: +0."),
        (-0.08, 0.2, "worse", "reranker=overlap is worse: nDCG@5 changes by -0.080 (95 %: -0."),
        (-0.01, 0.05, "worse", "reranker=overlap is worse, by less than 0.02: nDCG@5 changes by -0.010"),
        (
            0.001,
            0.1,
            "no worse",
            "reranker=overlap is no worse, within 0.02; that it is better is not shown: nDCG@5",
        ),
        (
            -0.01,
            0.3,
            "undecided",
            "Whether reranker=overlap helps is undecided: nDCG@5 changes by -0.010 (95 %: -0.",
        ),
    ],
)
def test_the_verdict_and_its_sentence(mean, sd, kind, sentence):
    found = judged(noise(300, mean, sd))
    assert found.kind == kind
    assert found.sentence.startswith(sentence)
    assert ("more queries are needed" in found.sentence) == (kind == "undecided")


def test_nothing_significant_is_called_equal_or_the_same():
    sentences = [
        judged(noise(n, m, sd)).sentence for n in (8, 60, 300) for m in (-0.01, 0, 0.01) for sd in (0.1, 0.4)
    ]
    assert not [s for s in sentences if "equal" in s or "same" in s or "no difference" in s]


def test_a_change_without_any_effect_is_no_worse_once_there_are_queries_enough():
    assert judged(np.zeros(148)).kind == "undecided"
    assert judged(np.zeros(149)).kind == "no worse"


def test_with_fewer_than_ten_needs_there_is_no_verdict():
    found = judged(np.full(9, 0.5))
    assert (found.kind, found.evidence.interval, found.evidence.bound) == ("undecided", None, None)
    assert found.sentence.startswith(
        "With 9 needs it can't be said whether reranker=overlap helps: 10 are the least."
    )
    assert judged(np.full(9, np.nan)).evidence.more is None


def test_how_many_more_depends_on_how_the_differences_scatter_and_not_on_their_mean():
    (wide,), (shifted,), (narrow,) = (
        evidence(noise(60, mean, sd)[:, np.newaxis], alone(60))
        for mean, sd in ((0, 0.3), (0.03, 0.3), (0, 0.15))
    )
    assert wide.more == shifted.more
    normal = scipy.stats.norm.ppf
    expected = ((normal(0.95) + normal(0.8)) * 0.3 / 0.02) ** 2
    assert wide.more.needs == pytest.approx(expected - 60, abs=1)
    assert wide.more.if_loss == 0
    assert narrow.more.needs + 60 == pytest.approx((wide.more.needs + 60) / 4, abs=1)


def test_where_there_are_queries_enough_for_no_loss_the_plan_is_for_half_of_epsilon():
    (found,) = evidence(noise(400, -0.015, 0.1)[:, np.newaxis], alone(400))
    assert found.more.if_loss == pytest.approx(0.01)
    assert 400 + found.more.needs == pytest.approx((2.4865 * 0.1 / 0.01) ** 2, abs=1)
    assert "if no more than 0.010 is truly lost" in found.missing


def test_queries_that_share_a_need_count_as_one():
    values = noise(120, 0.0, 0.3)
    needs = [f"{i:03}" for i in range(120) for _ in range(2)]
    (twice,) = evidence(np.repeat(values, 2)[:, np.newaxis], Resamples.of(needs, resamples=2000))
    (once,) = evidence(values[:, np.newaxis], alone(120))
    assert twice.needs == once.needs == 120
    assert twice.more.needs == once.more.needs


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.1, 0.25])
def test_so_many_needs_are_enough_four_times_in_five(sd):
    random = np.random.default_rng(11)
    (planned,) = evidence(noise(40, 0, sd)[:, np.newaxis], alone(40))
    total = 40 + planned.more.needs
    samples = random.normal(0, sd, (total, 500)).clip(-1, 1)
    shown = np.mean([one.no_worse for one in evidence(samples, alone(total))])
    assert shown == pytest.approx(0.8, abs=0.07)
