"""The reference systems, beside which every figure of a table is read: random, popular and oracle.

They are told under the systems and are never rows of a grid, nor in a family of tests. Each gives the mean of the
four lenses at every k over the queries with something relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.evaluate import evaluate
from bench.gains import EMPTY, RELEVANT, Array, Gains
from bench.grid import LENSES as LENSES
from bench.ids import Ids
from bench.join import join
from bench.metrics import MEASURES, dcg
from bench.qrels import Qrels
from bench.resampling import need_codes
from bench.runs import Run

Reference = Mapping[tuple[str, int], float]
"""The mean by lens and k."""


def references(
    qrels: Qrels, needs: Mapping[str, str], *, documents: int, ks: Sequence[int]
) -> dict[str, Reference]:
    """All three by name, from what nobody searched for to what nobody can beat; none where nothing is relevant.

    `needs` gives the need of each query (a query that it lacks is its own), `documents` is the size of the corpus.
    """
    if not (qrels.grades >= 1).any():
        return {}
    return {
        "random": chance(qrels, documents=documents, ks=ks),
        "popular": popular(qrels, needs, ks=ks),
        "oracle": oracle(qrels, ks=ks),
    }


def oracle(qrels: Qrels, *, ks: Sequence[int]) -> Reference:
    """The highest mean that any ranking reaches: all judged documents by grade, best first."""
    best = _best(qrels)
    return {(lens, k): float(MEASURES[lens](best, k).mean()) for lens in LENSES for k in ks}


def chance(qrels: Qrels, *, documents: int, ks: Sequence[int]) -> Reference:
    """What a random ranking has in expectation, exactly: every order of the corpus alike, the unjudged irrelevant."""
    best = _best(qrels)
    expected = {k: _expected(best, documents, k) for k in ks}
    return {(lens, k): float(expected[k][lens].mean()) for lens in LENSES for k in ks}


def popular(qrels: Qrels, needs: Mapping[str, str], *, ks: Sequence[int]) -> Reference:
    """Documents by how many other queries they are relevant to, whatever is asked; equal ones by id descending.

    The queries that share the need of the one in question do not count, else it would be told its own answer.
    Documents that nothing else asks for are not ranked.
    """
    found = evaluate(_popular(qrels, needs, max(ks)), qrels, ks=ks, measures=[MEASURES[n] for n in LENSES])
    return {(lens, k): found.mean(lens, k) or 0.0 for lens in LENSES for k in ks}


def _popular(qrels: Qrels, needs: Mapping[str, str], depth: int) -> Run:
    """The ranking of each judged query by the relevance of documents to the queries of other needs."""
    queries = qrels.judged_queries
    unit = need_codes([needs.get(query, query) for query in queries])
    ids = Ids(qrels.doc_ids)
    relevant = qrels.grades >= 1
    doc, need = ids.rows(qrels.doc_array)[relevant], unit[qrels.query_codes[relevant]]
    asked = np.bincount(doc, minlength=len(ids)).astype(np.float64)
    # To leave a need out lowers its own documents alone, so no ranking reaches beyond so many of the whole one.
    own = np.unique(np.stack([need, doc]), axis=1)[0]
    width = min(len(ids), depth + int(np.bincount(own).max(initial=0)))
    order = Run(("all",), ids, np.arange(len(ids), dtype=np.int32)[np.newaxis], asked[np.newaxis])
    first = order.rows[0, :width]
    place = np.full(len(ids), -1)
    place[first] = np.arange(width)
    counts = np.tile(asked[first], (int(unit.max()) + 1, 1))
    within = place[doc] >= 0
    np.subtract.at(counts, (need[within], place[doc[within]]), 1.0)
    rows = np.where(counts > 0, first, np.int32(-1))
    return Run(queries, ids, rows[unit], counts[unit]).top(depth)


def _best(qrels: Qrels) -> Gains:
    """The gains of the queries with something relevant, all judged documents ranked by grade."""
    nothing = np.full((len(qrels.judged_queries), 1), -1, np.int32)
    gains = join(Run(qrels.judged_queries, Ids(qrels.doc_ids), nothing, np.zeros(nothing.shape)), qrels)
    ideal = gains.ideal[gains.total() > 0]
    return Gains(np.maximum(ideal, 0), np.where(ideal >= 1, RELEVANT, EMPTY).astype(np.int8), ideal)


def _expected(best: Gains, documents: int, k: int) -> Mapping[str, Array]:
    """The expectation of each lens for a ranking drawn at random, [q]."""
    total, ideal = best.total(), np.maximum(best.ideal, 0)
    ranks = np.arange(1, min(k, documents) + 1)
    # P(first relevant at rank r) = P(none in r - 1) * R / (N - r + 1), by sampling without replacement.
    none = np.ones(len(total))
    reciprocal = np.zeros(len(total))
    for rank in ranks:
        hit = np.minimum(total / (documents - rank + 1), 1)
        reciprocal += none * hit / rank
        none *= 1 - hit
    mean_gain = ideal.sum(axis=1) / documents
    return {
        "precision": total * len(ranks) / documents / k,
        "recall": np.full(len(total), len(ranks) / documents),
        "mrr": reciprocal,
        "ndcg": mean_gain * (1 / np.log2(ranks + 1)).sum() / dcg(ideal, k),
    }
