"""Fusion: several rankings of the same queries become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError, check_number, did_you_mean
from bench.runs import Run, Scores, Stage

Mask = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", bound=np.generic)


class Fusion(Protocol):
    """Makes one run of several, over the same queries and vocabulary."""

    def fuse(self, runs: Mapping[str, Run], weights: Mapping[str, float], *, depth: int) -> Run:
        """The best `depth` documents of all sides, by the weighted sum of what each side says of them.

        The fused run remembers every side as a stage under its name: rank and score, 0 and -inf for a
        document that the side did not return. The order in which sides are given changes nothing.
        """


@dataclass(frozen=True, kw_only=True)
class ReciprocalRank:
    """Reciprocal rank fusion: each side gives 1 / (rank_constant + rank) (Cormack, Clarke, Büttcher 2009).

    Ranks from 1. A side that did not return a document gives it nothing; no rank is invented.
    """

    rank_constant: float = 60

    by_rank: ClassVar[bool] = True
    """Its scores are made of ranks: they say nothing of how good a document is."""

    def __post_init__(self) -> None:
        check_number("fusion.rank_constant", self.rank_constant)

    def fuse(self, runs: Mapping[str, Run], weights: Mapping[str, float], *, depth: int) -> Run:
        """One run by reciprocal ranks."""
        return _fused(runs, weights, depth, self._worth)

    def _worth(self, run: Run) -> _Worth:
        by_rank = 1 / (self.rank_constant + np.arange(1, run.depth + 1))
        return _Worth(np.broadcast_to(by_rank, run.rows.shape), np.zeros(len(run.rows)))


@dataclass(frozen=True, kw_only=True)
class WeightedSum:
    """The weighted sum of scores, normalised over what each side returned for the query.

    `min_max`: the best is 1, the last 0, and a missing document 0. Equal scores, or a single hit, are all 1:
    a hit is a hit. `z_score`: distance from the mean in standard deviations (population); a missing document
    counts as the side's last, for half of a list lies below 0 and must not lose to what was not found. Equal
    scores, or a single hit, are all 0 and a missing document -1. A side without any hit says nothing.
    """

    normalise: Literal["min_max", "z_score"] = "z_score"

    def __post_init__(self) -> None:
        if self.normalise not in _NORMALISED:
            raise BenchError(
                f"fusion.normalise={self.normalise!r}{did_you_mean(str(self.normalise), _NORMALISED)}"
            )

    def fuse(self, runs: Mapping[str, Run], weights: Mapping[str, float], *, depth: int) -> Run:
        """One run by normalised scores."""
        return _fused(runs, weights, depth, _NORMALISED[self.normalise])


def z_scores(scores: Scores, found: Mask) -> Scores:
    """Distances from the mean of each row in population standard deviations, over the places found [q, n].

    All 0 where the scores are equal or there is one; 0 where nothing was found.
    """
    low, spread = _range(scores, found)
    count = np.maximum(found.sum(axis=1, keepdims=True), 1)
    # Within the range first: the scale changes no z-score, and squares of large scores would overflow.
    scaled = _divided(np.where(found, scores - low, 0.0), spread)
    centred = np.where(found, scaled - scaled.sum(axis=1, keepdims=True) / count, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    return _divided(centred, np.where(spread > 0, deviation, 0.0))


class _Worth(NamedTuple):
    """What one side says of each place [q, depth], and of a document it did not return [q]."""

    found: Scores
    missing: Scores


def _min_max(run: Run) -> _Worth:
    found = run.rows >= 0
    low, spread = _range(run.scores, found)
    worth = np.where(spread > 0, _divided(np.where(found, run.scores - low, 0.0), spread), 1.0)
    return _Worth(worth, np.zeros(len(run.rows)))


def _z_score(run: Run) -> _Worth:
    found = run.rows >= 0
    worth = z_scores(run.scores, found)
    lowest = worth.min(axis=1, initial=0.0)
    return _Worth(worth, np.where(found.any(axis=1) & (lowest == 0), -1.0, lowest))


_NORMALISED: dict[str, Callable[[Run], _Worth]] = {"min_max": _min_max, "z_score": _z_score}


def _fused(
    runs: Mapping[str, Run], weights: Mapping[str, float], depth: int, worth_of: Callable[[Run], _Worth]
) -> Run:
    _refuse_unfit(runs, weights)
    names = sorted(runs)
    first = runs[names[0]]
    size = max(len(first.docs), 1)
    places = [np.nonzero(runs[name].rows >= 0) for name in names]
    # One key a (query, document) pair, so that what the sides have in common falls together in one sort.
    keys = [at[0] * size + runs[name].rows[at] for name, at in zip(names, places, strict=True)]
    pairs, pair_of = np.unique(np.concatenate(keys), return_inverse=True)
    query, row = np.divmod(pairs, size)
    place = np.arange(len(pairs)) - np.searchsorted(query, query)
    shape = (len(first.queries), int(place.max(initial=-1)) + 1)

    def dense(values: npt.NDArray[_Number], empty: float) -> npt.NDArray[_Number]:
        filled = np.full(shape, empty, values.dtype)
        filled[query, place] = values
        return filled

    shares = np.empty((len(names), len(pairs)))
    stages = {}
    returned = np.split(pair_of, np.cumsum([len(of_side) for of_side in keys])[:-1])
    for side, (name, at, mine) in enumerate(zip(names, places, returned, strict=True)):
        worth = worth_of(runs[name])
        shares[side] = weights[name] * worth.missing[query]
        shares[side, mine] = weights[name] * worth.found[at]
        ranks, scores = np.zeros(len(pairs), np.int32), np.full(len(pairs), -np.inf)
        ranks[mine], scores[mine] = at[1] + 1, runs[name].scores[at]
        stages[name] = Stage(dense(ranks, 0), dense(scores, -np.inf))
    # Added smallest first, so that ranks 1, 2, 3 are worth exactly as much as 3, 1, 2: a true tie.
    total = np.sort(shares, axis=0).sum(axis=0)
    rows = dense(row.astype(np.int32), -1)
    return Run(first.queries, first.docs, rows, dense(total, -np.inf), stages).top(depth)


def _refuse_unfit(runs: Mapping[str, Run], weights: Mapping[str, float]) -> None:
    if not runs or set(runs) != set(weights):
        raise ValueError(f"runs {sorted(runs)} and weights {sorted(weights)}")
    first = next(iter(runs.values()))
    if any(run.queries != first.queries or run.docs != first.docs for run in runs.values()):
        raise ValueError("the runs to fuse must share their queries and their vocabulary")
    for name, weight in weights.items():
        check_number(f"fusion.sides.{name}.weight", weight)


def _range(scores: Scores, found: Mask) -> tuple[Scores, Scores]:
    """The lowest score found in each row and its distance to the highest, [q, 1]; 0 where nothing was."""
    low = np.where(found, scores, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    high = np.where(found, scores, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    some = found.any(axis=1, keepdims=True)
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = high - low
    if not np.isfinite(spread).all():
        raise BenchError(
            "infinite scores cannot be normalised: fuse by rank (fusion=rrf) or drop such documents"
        )
    return low, spread


def _divided(values: Scores, by: Scores) -> Scores:
    """values / by, 0 where `by` is 0."""
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)
