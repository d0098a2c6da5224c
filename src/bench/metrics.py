"""The measures. Each is one function of gains by rank and a cut-off k, for one query or for all of them.

They never see an id or a score and never sort: `bench.evaluate` makes the gains. Rank is the last axis, so
gains of shape [depth] give a number and gains of shape [q, depth] give [q]. NaN means that the measure is not
defined for a query, which is then left out of its mean and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EMPTY, UNJUDGED, JUDGED, RELEVANT = range(4)
"""The status of a place: nothing came back, no judgement, judged and not relevant, relevant."""


@dataclass(frozen=True, eq=False)
class Gains:
    """What stands at each rank of a ranking, and what could have stood there.

    The gain of a grade g is max(0, g); a place is relevant where its grade is at least 1.
    """

    ranked: Array
    """Gain by rank, [..., depth]; 0 where nothing relevant stands."""
    status: npt.NDArray[np.int8]
    """EMPTY, UNJUDGED, JUDGED or RELEVANT by rank, [..., depth]."""
    ideal: Array
    """The gains of all judged documents, falling, 0 behind the last, [..., n]."""
    covers: npt.NDArray[np.uint64] | None = None
    """Which parts of the answer a place covers, one bit a part, [..., depth]; None without parts."""
    parts: npt.NDArray[np.uint64] | None = None
    """Which parts the answer has, one bit a part, [...]; 0 where the query has none."""

    def relevant(self, k: int, *, rel: float = 1) -> npt.NDArray[np.bool_]:
        """Where the first k places hold a relevant document, [..., min(k, depth)]."""
        return self.ranked[..., :k] >= rel

    def total(self, *, rel: float = 1) -> Array:
        """R: how many judged documents are relevant, [...]."""
        return np.asarray((self.ideal >= rel).sum(axis=-1), np.float64)


@dataclass(frozen=True)
class Measure:
    """A measure by the name of its column and the way it is printed."""

    name: str
    symbol: str
    grows_with_k: bool
    compute: Callable[[Gains, int], Array]

    def __call__(self, gains: Gains, k: int) -> Array:
        """The value at cut-off k (ranks from 1, k >= 1) for each query, [...]."""
        return self.compute(gains, k)

    def at(self, k: int) -> str:
        """As printed: `nDCG@5`."""
        return f"{self.symbol}@{k}"


MEASURES: dict[str, Measure] = {}
"""Every measure by the name of its column, in the order of their definition."""


def measure(symbol: str, *, grows_with_k: bool = False) -> Callable[[Callable[[Gains, int], Array]], Measure]:
    """Make a function of gains and k a measure, printed as `symbol`.

    `grows_with_k` says that a larger k can only raise it, so that its values may be compared across k.
    """

    def register(compute: Callable[[Gains, int], Array]) -> Measure:
        made = Measure(compute.__name__, symbol, grows_with_k, compute)
        MEASURES[made.name] = made
        return made

    return register


@measure("P")
def precision(gains: Gains, k: int) -> Array:
    """The share of the k places that hold a relevant document: k divides, however few came back."""
    return np.asarray(gains.relevant(k).sum(axis=-1) / k)


@measure("R", grows_with_k=True)
def recall(gains: Gains, k: int) -> Array:
    """The share of the relevant documents that stand in the top k."""
    return _ratio(gains.relevant(k).sum(axis=-1), gains.total())


@measure("RR")
def mrr(gains: Gains, k: int) -> Array:
    """1 / rank of the first relevant document within k, else 0; its mean is MRR (Voorhees 1999)."""
    relevant = gains.relevant(k)
    return np.asarray(np.where(relevant.any(axis=-1), 1.0 / (1 + relevant.argmax(axis=-1)), 0.0))


@measure("nDCG")
def ndcg(gains: Gains, k: int) -> Array:
    """DCG over that of the best ranking of all judged documents, linear gain (Järvelin and Kekäläinen 2002)."""
    return _ratio(_dcg(gains.ranked, k), _dcg(gains.ideal, k))


@measure("nDCG_retrieved")
def ndcg_retrieved(gains: Gains, k: int) -> Array:
    """The course's variant: the ideal is the best order of the top k itself, blind to what was left out."""
    best = -np.sort(-gains.ranked[..., :k], axis=-1)
    return _ratio(_dcg(gains.ranked, k), _dcg(best, k))


@measure("Complete", grows_with_k=True)
def complete(gains: Gains, k: int) -> Array:
    """1 if every part of the answer has a document in the top k; without parts, if R@k is 1."""
    if gains.covers is None or gains.parts is None:
        return np.asarray(gains.relevant(k).sum(axis=-1) >= gains.total(), np.float64)
    covered = np.bitwise_or.reduce(gains.covers[..., :k], axis=-1)
    whole = np.asarray((covered & gains.parts) == gains.parts, np.float64)
    return np.where(gains.parts == 0, np.nan, whole)


@measure("Success", grows_with_k=True)
def success(gains: Gains, k: int) -> Array:
    """1 if anything relevant stands in the top k."""
    return np.asarray(gains.relevant(k).any(axis=-1), np.float64)


@measure("Judged")
def judged(gains: Gains, k: int) -> Array:
    """The share of what came back within k that has a judgement; not defined where nothing came back."""
    status = gains.status[..., :k]
    returned = (status != EMPTY).sum(axis=-1)
    return np.where(returned == 0, np.nan, _ratio((status >= JUDGED).sum(axis=-1), returned))


def _dcg(gains: Array, k: int) -> Array:
    """Discounted cumulative gain at k: sum of gain / log2(rank + 1)."""
    top = gains[..., :k]
    discount = 1.0 / np.log2(np.arange(2, top.shape[-1] + 2))
    return np.asarray(top @ discount)


def _ratio(numerator: npt.NDArray[np.generic], denominator: npt.NDArray[np.generic]) -> Array:
    """Numerator over denominator, 0 where the denominator is 0."""
    upper, lower = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Array = np.divide(upper, lower, out=np.zeros(upper.shape), where=lower != 0)
    return quotient
