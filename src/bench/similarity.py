"""How alike the rankings of two systems are, whatever the judgements say of them: Overlap@k and RBO.

Both are 1 for equal rankings and 0 where nothing is in common, symmetric, and defined for short lists. Runs are
compared query by query over one vocabulary; `matrix` takes the mean over queries, for every pair of systems.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.metrics import ratio
from bench.runs import Run

Similarity = Callable[[Run, Run], Array]


def overlap(one: Run, other: Run, *, k: int) -> Array:
    """Overlap@k: the share of the top k that two rankings have in common, in whatever order, [q].

    Of lists that end before k the longer one divides, so that a list is wholly like itself and a system gains
    nothing by returning little. Two empty lists are alike: 1.
    """
    _refuse_strangers(one, other)
    one, other = one.top(k), other.top(k)
    longer = _lengths(one, other).max(axis=0)
    return np.where(longer == 0, 1.0, ratio(_common(one, other).sum(axis=1), longer))


def rbo(one: Run, other: Run, *, p: float = 0.9) -> Array:
    """Rank-biased overlap, extrapolated, [q]: the overlap that a reader meets who goes on with probability p.

    Equation 32 of Webber, Moffat and Zobel (2010), which is defined for lists of uneven length: below the end
    of the shorter list its agreement there is assumed to go on, below both the one that was last seen. With
    p = 0.9 the first ten ranks carry 0.86 of the weight. Two empty lists are alike: 1; one empty list: 0.
    """
    _refuse_strangers(one, other)
    if not 0 < p < 1:
        raise ValueError(f"p={p}: above 0 and below 1")
    short, long = np.sort(_lengths(one, other), axis=0)
    common = np.cumsum(_common(one, other), axis=1)
    at = np.arange(1, common.shape[1] + 1)
    in_short, in_long = (_at(common, length) for length in (short, long))
    agreed = np.where(long == 0, 1.0, ratio(in_short, short))
    beyond = np.maximum(at - short[:, np.newaxis], 0) * agreed[:, np.newaxis]
    seen = np.where(at <= long[:, np.newaxis], (common + beyond) / at * p ** (at - 1.0), 0.0)
    last = ratio(in_long - in_short, long) + agreed
    return np.asarray((1 - p) * seen.sum(axis=1) + last * p**long)


def matrix(runs: Sequence[Run], of: Similarity) -> Array:
    """The mean over all queries for every pair of systems, [systems, systems]; the diagonal is 1."""
    found = np.eye(len(runs))
    for one, other in itertools.combinations(range(len(runs)), 2):
        found[one, other] = found[other, one] = of(runs[one], runs[other]).mean()
    return found


def _common(one: Run, other: Run) -> npt.NDArray[np.int64]:
    """How many documents become common to both lists at each rank, [q, depth of the deeper run]."""
    depth, width = max(one.depth, other.depth), max(1, len(one.docs))
    (ours, our_ranks), (theirs, their_ranks) = _places(one, width), _places(other, width)
    shared, first, second = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    rank = np.maximum(our_ranks[first], their_ranks[second])
    counts = np.bincount(shared // width * depth + rank, minlength=len(one.rows) * depth)
    return counts.reshape(len(one.rows), depth)


def _places(run: Run, width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Every pair of query and document as one number, and the rank (from 0) where it stands."""
    query, rank = np.nonzero(run.rows >= 0)
    return query * width + run.rows[query, rank], rank


def _lengths(one: Run, other: Run) -> npt.NDArray[np.int64]:
    return np.stack([one.returned, other.returned]).astype(np.int64)


def _at(common: npt.NDArray[np.int64], length: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How much is common at this rank of each query; 0 at rank 0."""
    padded = np.pad(common, ((0, 0), (1, 0)))
    return np.asarray(np.take_along_axis(padded, length[:, np.newaxis], 1)[:, 0])


def _refuse_strangers(one: Run, other: Run) -> None:
    if one.queries != other.queries or one.docs != other.docs:
        raise ValueError("runs are compared over the same queries and one vocabulary")
