"""How far unjudged documents could move a measure, and the difference of two systems under the same judgements.

A run alone is a difference to a system that returns nothing, so there is one formula a measure: the most that
A - B can be over all ways to judge what is unjudged. The least is the most of B - A, turned round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.gains import Array
from bench.measure import Measure
from bench.metrics import dcg, rbp
from bench.unjudged.stakes import Stakes, counted, stakes
from bench.unjudged.world import Standing

ROUNDING = 1e-12
"""Means nearer to 0 than this are 0: nothing that is not rounding comes so near."""


MOST_LAYERS = 256
"""A scale with more whole grades is cut at those that are given."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the most that a figure can be for each query, [q], NaN where the query is left out."""

    low: Array
    high: Array

    @property
    def mean(self) -> tuple[float, float] | None:
        """The bounds of the mean over the queries that count, None where none does."""
        counted = ~np.isnan(self.low)
        if not counted.any():
            return None
        return float(self.low[counted].mean()), float(self.high[counted].mean())

    @property
    def decided(self) -> bool:
        """Of a difference: whether no further judgement can change the sign of its mean."""
        low, high = self.mean or (0.0, 0.0)
        return low > ROUNDING or high < -ROUNDING or max(abs(low), abs(high)) <= ROUNDING


def bounds(measure: Measure, run: Standing, k: int) -> Bounds | None:
    """The least and the most of a measure at k for each query; None where it is not offered.

    Offered for P, R, RR, nDCG with linear gain, and RBP, whose most is its value and its residual: what the
    unjudged places within k would add, and p^k for all that comes below. A query without anything relevant
    among the judged is left out, as from the mean.
    """
    return bounds_at([measure], run, k)[0]


def bounds_at(measures: Sequence[Measure], run: Standing, k: int) -> tuple[Bounds | None, ...]:
    """The bounds of several measures at one k, as `bounds` gives them for one."""
    at_stake = {rel: stakes(run, None, k, rel=rel)[0] for rel in {one.rel for one in measures}}
    return tuple(
        _rbp(one, run, k) if one.name == "rbp" else _both(one, run, at_stake[one.rel]) for one in measures
    )


def difference_bounds(measure: Measure, a: Standing, b: Standing, k: int) -> Bounds | None:
    """The least and the most of A - B at k for each query, every document judged alike for both.

    Both must stand in one world. None where it is not offered: only for P, R, RR and nDCG.
    """
    return _both(measure, a, stakes(a, b, k, rel=measure.rel)[0])


def _both(measure: Measure, run: Standing, at_stake: Stakes) -> Bounds | None:
    most = MOST.get(measure.name)
    if most is None:
        return None
    low, high = np.full((2, len(run.unjudged)), np.nan)
    queries = counted(run, rel=measure.rel)
    # Adding 0 makes no -0 of it.
    low[queries], high[queries] = 0.0 - most(at_stake.swapped()), most(at_stake) + 0.0
    return Bounds(low, high)


def _only_a(s: Stakes) -> Array:
    """How many unjudged documents stand in the top k of A alone, none where none could be relevant, [q]."""
    alone = np.isfinite(s.rank_a) & np.isinf(s.rank_b)
    return np.asarray(alone.sum(axis=1) if s.top >= s.rel else np.zeros(len(alone)), np.float64)


def _precision(s: Stakes) -> Array:
    return (s.found_a - s.found_b + _only_a(s)) / s.k


def _recall(s: Stakes) -> Array:
    """All that only A has, or none; all that tells the two not apart, or none."""
    both = (np.isfinite(s.rank_a) & np.isfinite(s.rank_b)).sum(axis=1)
    alike = (both + s.outside) * (s.top >= s.rel)
    gained = _only_a(s)
    known = s.found_a - s.found_b
    offers = [(known + x) / (s.total + x + y) for x in (0.0, gained) for y in (0.0, alike)]
    return np.asarray(np.max(offers, axis=0))


def _mrr(s: Stakes) -> Array:
    """One more relevant document at most: a second could only help B."""
    known = s.first_a - s.first_b
    if s.top < s.rel:
        return known
    first_a = np.maximum(s.first_a[:, np.newaxis], 1 / s.rank_a)
    first_b = np.maximum(s.first_b[:, np.newaxis], 1 / s.rank_b)
    return np.asarray(np.maximum(known, (first_a - first_b).max(axis=1, initial=-np.inf)))


def _ndcg(s: Stakes) -> Array:
    """The most of (DCG of A - DCG of B) / ideal DCG.

    The unjudged documents in the order of what they give A over B, grades never rise along it. The ideal DCG is
    a sum over layers of grade, 0 to 1, 1 to 2 and so on, in each of which only counts how many reach through it.
    """
    weight = 1 / np.log2(s.rank_a + 1) - 1 / np.log2(s.rank_b + 1)
    here = np.isfinite(s.rank_a) | np.isfinite(s.rank_b)
    falling = -np.sort(np.where(here, -weight, np.inf), axis=1)
    gained = np.zeros((len(falling), falling.shape[1] + 1))
    np.cumsum(np.where(np.isfinite(falling), falling, 0.0), axis=1, out=gained[:, 1:])
    known = s.dcg_a - s.dcg_b
    layers, heights, above = _ideal_by_layer(s)
    ahead = known + s.top * gained.max(axis=1) >= 0
    most = np.empty(len(known))
    most[ahead] = _most_ahead(known[ahead], gained[ahead], layers[ahead], heights=heights, above=above[ahead])
    back = ~ahead
    most[back] = _most_behind(
        known[back] + s.top * gained[back].T,
        layers[back].sum(axis=1) + above[back, np.newaxis],
        count=here[back].sum(axis=1),
        outside=s.outside[back],
    )
    return most


def _ideal_by_layer(s: Stakes) -> tuple[Array, Array, Array]:
    """The ideal DCG of each layer of grade with 0 to k more documents that reach through it, [q, layers, k + 1].

    Then the heights of the layers, and the ideal DCG of judged grades beyond the top of the scale, [q].
    """
    edges = _edges(s)
    heights = np.diff(edges)
    # Behind all that is judged or unjudged there is nothing to count, however large k is.
    places = min(s.k, s.ideal.shape[1] + s.rank_a.shape[1] + int(s.outside.max(initial=0)))
    discount = np.zeros(2 * places + 1)
    discount[:places] = 1 / np.log2(np.arange(2, places + 2))
    shifted = discount[np.arange(s.ideal.shape[1])[:, np.newaxis] + np.arange(places + 1)]
    within = np.clip(s.ideal[:, np.newaxis, :] - edges[:-1, np.newaxis], 0, heights[:, np.newaxis])
    more = np.concatenate([[0.0], np.cumsum(discount[:places])])
    layers = within @ shifted + heights[:, np.newaxis] * more
    return layers, heights, dcg(np.maximum(s.ideal - s.top, 0), s.k)


def _edges(s: Stakes) -> Array:
    """The grades between which the layers lie, rising: the whole numbers, or those that are given where they are few.

    Within a layer of any scale the same documents reach through, so the grades that are given are enough. Where
    both are too many, an even choice of them stands for all, and the bounds hold for unjudged grades among these.
    """
    whole = np.floor(s.top) + 1
    if whole <= MOST_LAYERS:
        return np.unique([*np.arange(whole), s.top])
    given = np.unique(np.append(s.ideal[(s.ideal > 0) & (s.ideal < s.top)], [0.0, s.top]))
    chosen = np.unique(np.linspace(0, len(given) - 1, MOST_LAYERS).astype(np.int64))
    return np.asarray(given[chosen])


def _most_ahead(known: Array, gained: Array, layers: Array, *, heights: Array, above: Array) -> Array:
    """The most where it is at least 0: nothing outside is relevant, and each layer is filled for itself.

    A ratio x / y is at most r where x - r y is at most 0, so r is raised until no filling is better (Dinkelbach
    1967). For a given r the best fillings of the layers never rise with the grade, so any of them can be.
    """
    width = min(gained.shape[1], layers.shape[2])
    offered = heights[:, np.newaxis] * gained[:, np.newaxis, :width]
    layers = layers[:, :, :width]
    filled = np.broadcast_to(gained[:, :width].argmax(axis=1)[:, np.newaxis], layers.shape[:2])
    ratio = np.full(len(known), -np.inf)
    while True:
        at = filled[..., np.newaxis]
        upper = known + np.take_along_axis(offered, at, -1).sum(axis=(1, 2))
        lower = above + np.take_along_axis(layers, at, -1).sum(axis=(1, 2))
        raised = upper / lower
        if not (raised > ratio).any():
            return ratio
        ratio = np.maximum(ratio, raised)
        filled = (offered - ratio[:, np.newaxis, np.newaxis] * layers).argmax(axis=-1)


def _most_behind(reached: Array, ideal: Array, *, count: npt.NDArray[np.int64], outside: Array) -> Array:
    """The most where it is below 0: a larger ideal helps, so all outside and the first few have the top grade.

    `reached` is [n + 1, q] by how many of the first have it, `ideal` [q, k + 1] by how many have it at all.
    """
    taken = np.arange(len(reached))[:, np.newaxis]
    having = np.minimum(taken + outside, ideal.shape[1] - 1).astype(np.int64)
    ratio = reached / ideal[np.arange(len(ideal)), having]
    return np.asarray(np.where(taken <= count, ratio, -np.inf).max(axis=0))


MOST: Mapping[str, Callable[[Stakes], Array]] = {
    "precision": _precision,
    "recall": _recall,
    "mrr": _mrr,
    "ndcg": _ndcg,
}
"""The most that A - B can be for each query, by measure."""


def _rbp(measure: Measure, run: Standing, k: int) -> Bounds:
    p = float(dict(measure.parameters)["p"])
    possible = run.possible[:, :k] & (run.gains.max_grade >= measure.rel)
    value = rbp.compute(run.gains, k, p=p, rel=measure.rel)
    residual = p**k + (1 - p) * (possible @ p ** np.arange(possible.shape[1]))
    counts = run.gains.total(rel=measure.rel) > 0
    return Bounds(np.where(counts, value, np.nan), np.where(counts, value + residual, np.nan))
