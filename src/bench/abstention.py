"""When a system should rather say nothing: how well the score of its best document tells whether there is an answer.

A query is answerable where something relevant was judged, and unanswerable where judgements were made and nothing
is. The unit is the need: queries that say the same thing are no independent witnesses, and stay in one fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtri, stdtrit

from bench.gains import Array
from bench.join import aligned
from bench.qrels import Qrels
from bench.runs import Run
from bench.statistics.intervals import FEWEST, LEVEL
from bench.statistics.resampling import need_codes

FOLDS = 5
"""A threshold is chosen on four fifths of the needs and tried on the last."""
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Abstention:
    """What the top score tells, and what a threshold on it would do."""

    auroc: float
    """How often a random answerable query has a higher top score than a random unanswerable one, ties half."""
    interval: tuple[float, float] | None
    """Of the AUROC, 95 %; None below 10 needs on either side."""
    threshold: float
    """The final one, chosen on all queries; at or above it the system answers."""
    thresholds: tuple[float, ...]
    """Those chosen on all folds but one, rising: how far the choice hangs on the queries at hand."""
    answered: Flags
    """Whether the score reaches the threshold that was chosen without the query's fold, [q]."""
    kept: float
    """The share of the answerable queries that are answered."""
    passed: float
    """The share of the unanswerable queries that are answered."""


def top_scores(run: Run, qrels: Qrels) -> Array:
    """The score of the best document of each judged query, -inf where nothing came back, [q]."""
    return np.asarray(aligned(run.scores, run, qrels, empty=-np.inf)[:, 0])


def answerable(qrels: Qrels) -> Flags:
    """Which judged queries have something relevant, [q]."""
    judged = len(qrels.judged_queries)
    return np.asarray(np.bincount(qrels.query_codes, qrels.grades >= 1, minlength=judged) > 0)


def too_few(with_answer: Flags, needs: Sequence[str]) -> str | None:
    """Why nothing can be said of abstention on these queries [q], None where something can."""
    if with_answer.all():
        return "every judged query has something relevant, so there is nothing to abstain from"
    units = need_codes(needs)
    for kind, chosen in (("answerable", with_answer), ("unanswerable", ~with_answer)):
        count = len(np.unique(units[chosen]))
        if count < FOLDS:
            return (
                f"its {kind} queries have {count} needs; to choose a threshold and try it, {FOLDS} are needed"
            )
    return None


def abstention(scores: Array, with_answer: Flags, needs: Sequence[str], *, seed: int = 0) -> Abstention:
    """AUROC and threshold of the top scores [q] of queries that are answerable [q] or not, with these needs.

    The threshold has the highest Youden's J (1950): the share of answerable queries that it keeps less the share
    of unanswerable ones that it lets pass, both errors weighing alike; of equally good ones the lowest. It is
    cross-fitted: each fold of needs is judged by the threshold of the other four. A query for which nothing came
    back (-inf) is never answered. Raises ValueError where `too_few` has a reason.
    """
    if reason := too_few(with_answer, needs):
        raise ValueError(reason)
    units = need_codes(needs)
    fold = _folds(with_answer, units, seed)
    chosen = np.array([_threshold(scores[fold != f], with_answer[fold != f]) for f in range(FOLDS)])
    answered = (scores >= chosen[fold]) & (scores > -np.inf)
    auroc, interval = _auroc(scores, with_answer, units)
    return Abstention(
        auroc=auroc,
        interval=interval,
        threshold=_threshold(scores, with_answer),
        thresholds=tuple(sorted(chosen.tolist())),
        answered=answered,
        kept=float(answered[with_answer].mean()),
        passed=float(answered[~with_answer].mean()),
    )


def _folds(with_answer: Flags, units: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """The fold of each query: needs in random order, dealt out in turn, those with an answer first."""
    first = np.bincount(units, with_answer) > 0
    order = np.random.default_rng(seed).permutation(len(first))
    dealt = np.concatenate([order[first[order]], order[~first[order]]])
    fold = np.empty(len(dealt), np.int64)
    fold[dealt] = np.arange(len(dealt)) % FOLDS
    return np.asarray(fold[units])


def _threshold(scores: Array, with_answer: Flags) -> float:
    """Halfway between the lowest score that is to pass and the next below it; infinite where nothing came back."""
    candidates = np.unique(scores[scores > -np.inf])
    if not len(candidates):
        return np.inf
    kept, passed = (_at_least(candidates, scores[chosen]) for chosen in (with_answer, ~with_answer))
    best = int(np.argmax(kept - passed))
    lowest = float(candidates[best])
    if best == 0 or np.isinf(lowest):
        return lowest
    below = float(candidates[best - 1])
    middle = below + (lowest - below) / 2
    return middle if middle > below else lowest


def _at_least(thresholds: Array, scores: Array) -> Array:
    """The share of the scores at or above each threshold."""
    return np.asarray(1 - np.searchsorted(np.sort(scores), thresholds, "left") / len(scores))


def _auroc(
    scores: Array, with_answer: Flags, units: npt.NDArray[np.int64]
) -> tuple[float, tuple[float, float] | None]:
    """The area and its interval: on the scale of the logit, t with Satterthwaite's degrees of freedom.

    The variance is that of DeLong, DeLong and Clarke-Pearson (1988), between needs as Obuchowski (1997) has it. It
    is too small near 0 and 1, where hardly a pair is in the wrong order and it may even vanish, so neither end is
    nearer than that of Newcombe (2006, method 5) for as many queries as there are needs.
    """
    one, other = scores[with_answer], scores[~with_answer]
    above, below = _won(one, other), 1 - _won(other, one)
    area = float(above.mean())
    sizes = [len(np.unique(units[chosen])) for chosen in (with_answer, ~with_answer)]
    if min(sizes) < FEWEST:
        return area, None
    lo, hi = _newcombe(area, *sizes)
    total = int(units.max()) + 1
    parts = [
        np.bincount(units[chosen], won - area, total) / len(won)
        for chosen, won in ((with_answer, above), (~with_answer, below))
    ]
    variances = [count / (count - 1) * float(part @ part) for count, part in zip(sizes, parts, strict=True)]
    variance = sum(variances) + 2 * total / (total - 1) * float(parts[0] @ parts[1])
    if 0 < area < 1 and variance > 0:
        freedom = sum(variances) ** 2 / sum(
            own**2 / (count - 1) for own, count in zip(variances, sizes, strict=True)
        )
        half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * variance**0.5 / (area * (1 - area))
        lo, hi = min(lo, float(expit(logit(area) - half))), max(hi, float(expit(logit(area) + half)))
    return area, (lo, hi)


def _won(scores: Array, others: Array) -> Array:
    """The share of the others that each score is above, ties half."""
    ordered = np.sort(others)
    sides = [np.searchsorted(ordered, scores, side) for side in ("left", "right")]
    return np.asarray((sides[0] + sides[1]) / (2 * len(others)))


def _newcombe(area: float, answerable: int, unanswerable: int) -> tuple[float, float]:
    """The areas from which this one is as far away as chance allows, found by halving."""
    z = float(ndtri((1 + LEVEL) / 2))
    spread = (answerable + unanswerable) / 2 - 1

    def near(true: float) -> bool:
        deviation = true * (1 - true) * (1 + spread * ((1 - true) / (2 - true) + true / (1 + true)))
        return abs(true - area) <= z * float(np.sqrt(deviation / (answerable * unanswerable)))

    ends = []
    for end in (0.0, 1.0):
        # The deviation is 0 at an end itself: where the area lies there, the other side of it is looked at.
        far, close = end, min(max(area, 1e-9), 1 - 1e-9)
        for _ in range(60):
            middle = (far + close) / 2
            far, close = (far, middle) if near(middle) else (middle, close)
        ends.append(end if area == end else far)
    return ends[0], ends[1]
