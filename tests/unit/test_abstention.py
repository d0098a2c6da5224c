"""What the top score tells of whether there is an answer: the area, its interval, and a threshold tried elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.conftest import make_qrels, make_run

from bench.abstention import FOLDS, abstention, answerable, too_few, top_scores

SCORE = st.sampled_from([-np.inf, 0.0, 0.1, 0.2, 0.3, 0.4, np.inf])


def queries(answerable: int, unanswerable: int) -> tuple[np.ndarray, list[str]]:
    """Flags and needs of so many queries, each a need of its own."""
    count = answerable + unanswerable
    return np.arange(count) < answerable, [f"n{i:04}" for i in range(count)]


def test_the_area_is_that_of_scikit_learn_ties_and_empty_rankings_included():
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(3)
    flags, needs = queries(60, 40)
    scores = random.integers(0, 6, 100) / 10 + flags * 0.2
    scores[random.random(100) < 0.1] = -np.inf
    expected = roc_auc_score(flags, np.maximum(scores, -1))
    assert abstention(scores, flags, needs).auroc == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(SCORE, min_size=6, max_size=12), st.lists(SCORE, min_size=5, max_size=12))
def test_the_area_is_the_share_of_pairs_in_the_right_order_and_everything_is_a_share(with_answer, without):
    flags, needs = queries(len(with_answer), len(without))
    found = abstention(np.array(with_answer + without), flags, needs)
    pairs = [(one > other) + (one == other) / 2 for one in with_answer for other in without]
    assert found.auroc == pytest.approx(np.mean(pairs))
    assert 0 <= found.kept <= 1
    assert 0 <= found.passed <= 1
    assert len(found.thresholds) == FOLDS
    if found.interval:
        assert 0 <= found.interval[0] <= found.auroc <= found.interval[1] <= 1


def test_scores_that_tell_everything_have_a_threshold_between_and_an_interval_that_knows_how_few_they_are():
    flags, needs = queries(20, 10)
    found = abstention(np.where(flags, 0.8, 0.2), flags, needs)
    assert (found.auroc, found.kept, found.passed) == (1, 1, 0)
    assert found.threshold == pytest.approx(0.5)
    assert found.thresholds == pytest.approx((0.5,) * FOLDS)
    assert found.interval[1] == 1
    assert 0.7 < found.interval[0] < 0.95
    more, names = queries(200, 100)
    assert abstention(np.where(more, 0.8, 0.2), more, names).interval[0] > found.interval[0]


def test_scores_that_tell_nothing_say_so():
    flags, needs = queries(30, 20)
    found = abstention(np.full(50, 0.5), flags, needs)
    assert found.auroc == 0.5
    assert found.interval[0] < 0.5 < found.interval[1]
    assert (found.kept, found.passed) == (1, 1)


def test_the_threshold_has_the_highest_difference_of_shares_and_of_equal_ones_the_lowest():
    flags, needs = queries(6, 5)
    scores = np.array([0.1, 0.5, 0.6, 0.7, 0.8, 0.9, 0.1, 0.2, 0.3, 0.4, 0.6])
    shares = {t: (scores[flags] >= t).mean() - (scores[~flags] >= t).mean() for t in np.unique(scores)}
    best = min(t for t, share in shares.items() if share == max(shares.values()))
    assert best == 0.5
    assert abstention(scores, flags, needs).threshold == pytest.approx(0.45)


def test_where_nothing_came_back_nothing_is_answered():
    flags, needs = queries(10, 10)
    scores = np.where(np.arange(20) % 2 == 0, -np.inf, 1.0)
    assert abstention(scores, flags, needs).answered.tolist() == (scores > -np.inf).tolist()
    silent = abstention(np.full(20, -np.inf), flags, needs)
    assert (silent.kept, silent.passed, silent.auroc) == (0, 0, 0.5)


def test_a_query_is_judged_by_a_threshold_that_its_need_had_no_part_in():
    random = np.random.default_rng(0)
    flags = np.array([True] * 40 + [False] * 20)
    needs = [f"a{i // 4}" for i in range(40)] + [f"u{i}" for i in range(20)]
    scores = random.normal(flags * 0.8)
    thresholds = abstention(scores, flags, needs).thresholds
    assert len(set(thresholds)) > 1
    for need in ("a0", "a7", "u3"):
        own = np.array([one == need for one in needs])

        def answered_at(score, own=own):
            return set(abstention(np.where(own, score, scores), flags, needs).answered[own].tolist())

        # Whatever its queries score, they meet one threshold, and it is among those of the other folds.
        first = next(i for i, threshold in enumerate(thresholds) if answered_at(threshold) == {True})
        assert all(answered_at(threshold) == {True} for threshold in thresholds[first:])
        assert answered_at(thresholds[first] - 1e-9) == {False}


def test_an_optimist_s_threshold_on_noise_is_found_out_by_the_folds():
    random = np.random.default_rng(5)
    flags, needs = queries(60, 30)
    honest, apparent = [], []
    for _ in range(40):
        scores = random.normal(size=90)
        found = abstention(scores, flags, needs)
        honest.append(found.kept - found.passed)
        apparent.append(
            (scores[flags] >= found.threshold).mean() - (scores[~flags] >= found.threshold).mean()
        )
    assert np.mean(apparent) > 0.12
    assert abs(np.mean(honest)) < 0.06


def test_queries_of_one_need_do_not_make_an_interval_narrower():
    random = np.random.default_rng(2)
    flags, needs = queries(40, 20)
    scores = random.normal(flags * 1.0)
    alone = abstention(scores, flags, needs).interval
    five_times = abstention(np.repeat(scores, 5), np.repeat(flags, 5), np.repeat(needs, 5).tolist()).interval
    assert five_times == pytest.approx(alone)


def test_why_nothing_can_be_said_is_said():
    flags, needs = queries(20, 3)
    assert "unanswerable queries have 3 needs" in too_few(flags, needs)
    assert "nothing to abstain from" in too_few(np.full(4, True), needs[:4])
    assert "answerable queries have 1 needs" in too_few(flags, ["n"] * 20 + needs[:3])
    assert too_few(*queries(5, 5)) is None
    with pytest.raises(ValueError, match="unanswerable queries have 3 needs"):
        abstention(np.zeros(23), flags, needs)
    assert abstention(np.zeros(14), *queries(9, 5)).interval is None


def test_the_top_score_is_that_of_the_best_document_or_nothing():
    qrels = make_qrels({"p": {"a": 1}, "q": {"b": 0}, "r": {"a": -1, "b": 2}})
    run = make_run({"p": {"a": 0.5, "b": 0.75}, "q": {}, "unjudged": {"a": 9.0}})
    assert top_scores(run, qrels).tolist() == [0.75, -np.inf, -np.inf]
    assert top_scores(make_run({"p": [], "q": []}), qrels).tolist() == [-np.inf] * 3
    assert answerable(qrels).tolist() == [True, False, True]


@pytest.mark.slow
@pytest.mark.parametrize(("needs", "others"), [(200, 46), (80, 25), (30, 12)])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_the_interval_covers_the_true_area_over_needs_that_share_a_score(needs, others, shift, spread):
    random = np.random.default_rng(7)
    covered, rounds = 0, 400
    flags_of, true = np.arange(needs + others) < needs, ndtr(shift / np.sqrt(1 + spread**2))
    for _ in range(rounds):
        unit = np.repeat(np.arange(needs + others), 1 + random.poisson(np.where(flags_of, 0.75, 0.2)))
        flags = flags_of[unit]
        noise = 0.6**0.5 * random.normal(size=needs + others)[unit] + 0.4**0.5 * random.normal(size=len(unit))
        scores = np.where(flags, shift + noise, spread * noise)
        lo, hi = abstention(scores, flags, [str(i) for i in unit]).interval
        covered += lo <= true <= hi
    assert covered / rounds >= 0.92
