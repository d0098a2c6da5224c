"""The measures. Each is one function of gains by rank and a cut-off k, for one query or for all of them.

They never see an id or a score and never sort rankings: `bench.evaluate` makes the gains. NaN means that the
measure is not defined for a query, which is then left out of its mean and counted. `rel` is the grade from
which a document is relevant.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from bench.gains import EMPTY, JUDGED, NEGATIVE, Array, Bits, Gains
from bench.measure import MEASURES as MEASURES
from bench.measure import Level, Range, measure
from bench.measure import parse as parse

STEEPEST = 1000
"""On a scale of more grades a gain of 2^g - 1 is beyond double precision: there it is not defined."""


@measure("P", divides_by_k=True)
def precision(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """The share of the k places that hold a relevant document: k divides, however few came back."""
    return gains.found(k, rel=rel) / k


@measure("R", grows_with_k=True)
def recall(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """The share of the relevant documents that stand in the top k."""
    return ratio(gains.found(k, rel=rel), gains.total(rel=rel))


@measure("RR")
def mrr(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """1 / rank of the first relevant document within k, else 0; its mean is MRR (Voorhees 1999)."""
    first = gains.first(rel=rel)
    return np.asarray(np.where(first <= k, 1 / first, 0.0))


@measure("nDCG")
def ndcg(gains: Gains, k: int) -> Array:
    """DCG over that of the best ranking of all judged documents, linear gain (Järvelin and Kekäläinen 2002)."""
    return ratio(dcg(gains.ranked, k), dcg(np.maximum(gains.ideal[..., :k], 0), k))


@measure("nDCG(dcg='exp-log2')")
def ndcg_exp(gains: Gains, k: int) -> Array:
    """nDCG with the gain 2^g - 1, in the ranking and in the ideal (Burges et al. 2005)."""
    if gains.max_grade > STEEPEST:
        return np.full(gains.ranked.shape[:-1], np.nan)
    ranked, ideal = gains.ranked[..., :k], np.maximum(gains.ideal[..., :k], 0)
    return ratio(dcg(np.exp2(ranked) - 1, k), dcg(np.exp2(ideal) - 1, k))


@measure("nDCG_retrieved")
def ndcg_retrieved(gains: Gains, k: int) -> Array:
    """The course's variant: the ideal is the best order of the top k itself, blind to what was left out."""
    best = -np.sort(-gains.ranked[..., :k], axis=-1)
    return ratio(dcg(gains.ranked, k), dcg(best, k))


@measure("Complete", grows_with_k=True)
def complete(gains: Gains, k: int) -> Array:
    """1 if every part of the answer has a document in the top k; without parts, if R@k is 1."""
    if gains.covers is None or gains.parts is None:
        return np.asarray(gains.found(k) >= gains.total(), np.float64)
    covered = np.bitwise_or.reduce(gains.covers[..., :k], axis=-1)
    whole = np.asarray((covered & gains.parts) == gains.parts, np.float64)
    return np.where(gains.parts == 0, np.nan, whole)


@measure("StRecall", grows_with_k=True)
def part_recall(gains: Gains, k: int) -> Array:
    """The share of the parts that have a document in the top k: subtopic recall (Zhai et al. 2003).

    Without parts the answer is one part, which any relevant document covers.
    """
    covers, parts = _covers(gains)
    covered = np.bitwise_or.reduce(covers[..., :k], axis=-1) & parts
    return np.where(parts == 0, np.nan, ratio(np.bitwise_count(covered), np.bitwise_count(parts)))


@measure("alpha_nDCG")
def alpha_ndcg(gains: Gains, k: int, *, alpha: Annotated[float, Range(0, 1, ends=True)] = 0.5) -> Array:
    """nDCG whose gain for a part falls by 1 - alpha each time it is covered again (Clarke et al. 2008).

    The ideal is built greedily from all judged documents, as TREC's ndeval builds it. Without parts the answer
    is one part, which any relevant document covers.
    """
    covers, parts = _covers(gains)
    judged = gains.covering if gains.covering is not None else (gains.ideal >= 1).astype(np.uint64)
    reached = dcg(_novel(covers[..., :k], alpha), k)
    ideal = dcg(_greedy(judged, k, alpha), k)
    return np.where(parts == 0, np.nan, ratio(reached, ideal))


@measure("AP")
def ap(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """The sum of P@i over the relevant ranks i within k, over all relevant documents."""
    return ratio(_precision_sum(gains, k, rel=rel), gains.total(rel=rel))


@measure("Success", grows_with_k=True)
def success(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """1 if anything relevant stands in the top k."""
    return np.asarray(gains.found(k, rel=rel) > 0, np.float64)


@measure("F1", divides_by_k=True)
def f1(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """The harmonic mean of P@k and R@k of each query."""
    found = gains.found(k, rel=rel)
    return ratio(2 * found, k + gains.total(rel=rel))


@measure("Rprec", has_k=False)
def r_precision(gains: Gains, _k: int, *, rel: Level = 1) -> Array:
    """Precision at R, the number of relevant documents, over the whole stored ranking."""
    total = gains.total(rel=rel)
    within = np.arange(1, gains.ranked.shape[-1] + 1) <= total[..., np.newaxis]
    return ratio((gains.relevant(rel=rel) & within).sum(axis=-1), total)


@measure("Bpref", has_k=False)
def bpref(gains: Gains, _k: int, *, rel: Level = 1) -> Array:
    """How seldom judged irrelevant documents stand above relevant ones (Buckley and Voorhees 2004).

    Grades below 0 count as neither; over the whole stored ranking.
    """
    total = gains.total(rel=rel)
    others = ((gains.ideal >= 0) & (gains.ideal < rel)).sum(axis=-1)
    relevant = gains.relevant(rel=rel)
    above = np.cumsum((gains.status >= JUDGED) & ~relevant, axis=-1)
    bound = np.minimum(others, total)
    penalty = ratio(np.minimum(above, total[..., np.newaxis]), bound[..., np.newaxis])
    return ratio(np.where(relevant, 1 - penalty, 0.0).sum(axis=-1), total)


@measure("RBP", p=0.8)
def rbp(gains: Gains, k: int, *, p: Annotated[float, Range(0, 1)] = 0.8, rel: Level = 1) -> Array:
    """What a reader gains who goes on to the next rank with probability p (Moffat and Zobel 2008)."""
    relevant = gains.relevant(k, rel=rel)
    return np.asarray((1 - p) * (relevant @ p ** np.arange(relevant.shape[-1])))


@measure("ERR")
def err(gains: Gains, k: int) -> Array:
    """The expected reciprocal rank at which a reader stops, satisfied with (2^g - 1) / 2^G (Chapelle et al. 2009)."""
    if gains.max_grade > STEEPEST:
        return np.full(gains.ranked.shape[:-1], np.nan)
    stops = (np.exp2(gains.ranked[..., :k]) - 1) / np.exp2(gains.max_grade)
    went_on = np.cumprod(1 - stops, axis=-1)
    reached = np.concatenate([np.ones_like(went_on[..., :1]), went_on[..., :-1]], axis=-1)
    return np.asarray((reached * stops / np.arange(1, stops.shape[-1] + 1)).sum(axis=-1))


@measure("ContextPrecision")
def context_precision(gains: Gains, k: int, *, rel: Level = 1) -> Array:
    """Ragas' context precision: AP over the relevant documents that were retrieved, blind to the others."""
    return ratio(_precision_sum(gains, k, rel=rel), gains.found(k, rel=rel))


@measure("Judged")
def judged(gains: Gains, k: int) -> Array:
    """The share of what came back within k that has a judgement; not defined where nothing came back."""
    status = gains.status[..., :k]
    returned = (status != EMPTY).sum(axis=-1)
    return np.where(returned == 0, np.nan, ratio((status >= NEGATIVE).sum(axis=-1), returned))


def dcg(gains: Array, k: int) -> Array:
    """Discounted cumulative gain at k: the sum of gain / log2(rank + 1), [...]."""
    top = gains[..., :k]
    return np.asarray(top @ (1.0 / np.log2(np.arange(2, top.shape[-1] + 2))))


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Array:
    """Numerator over denominator, 0 where the denominator is 0."""
    upper, lower = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    quotient: Array = np.divide(upper, lower, out=np.zeros(upper.shape), where=lower != 0)
    return quotient


def _precision_sum(gains: Gains, k: int, *, rel: float) -> Array:
    relevant = gains.relevant(k, rel=rel)
    precisions = np.cumsum(relevant, axis=-1) / np.arange(1, relevant.shape[-1] + 1)
    return np.asarray(np.where(relevant, precisions, 0.0).sum(axis=-1))


def _covers(gains: Gains) -> tuple[Bits, Bits]:
    if gains.covers is None or gains.parts is None:
        return gains.relevant().astype(np.uint64), np.asarray(gains.total() > 0, np.uint64)
    return gains.covers, gains.parts


def _unpacked(bits: Bits) -> npt.NDArray[np.float64]:
    """Bits as a last axis of 0 and 1, as long as the highest bit in use."""
    width = max(1, int(np.bitwise_or.reduce(bits, axis=None)).bit_length())
    return ((bits[..., np.newaxis] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)).astype(np.float64)


def _novel(covers: Bits, alpha: float) -> Array:
    """The gain of each place: what its parts are worth after all that stands above it, [..., k]."""
    parts = _unpacked(covers)
    before = np.cumsum(parts, axis=-2) - parts
    return np.asarray((parts * (1 - alpha) ** before).sum(axis=-1))


def _greedy(judged: Bits, k: int, alpha: float) -> Array:
    """The gains of the ranking that takes, at each rank, the judged document that is worth most there."""
    parts = _unpacked(judged)
    worth = np.ones((*parts.shape[:-2], parts.shape[-1]))
    free = np.ones(parts.shape[:-1])
    gains = []
    for _ in range(min(k, parts.shape[-2])):
        offers = np.where(free > 0, (parts * worth[..., np.newaxis, :]).sum(axis=-1), -1.0)
        best = offers.argmax(axis=-1)[..., np.newaxis]
        gains.append(np.maximum(np.take_along_axis(offers, best, -1)[..., 0], 0.0))
        chosen = np.take_along_axis(parts, best[..., np.newaxis], -2)[..., 0, :]
        worth = worth * np.where(chosen > 0, 1 - alpha, 1.0)
        np.put_along_axis(free, best, 0.0, -1)
    return np.stack(gains, axis=-1) if gains else np.zeros((*parts.shape[:-2], 0))
