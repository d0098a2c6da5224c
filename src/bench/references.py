"""The reference systems, beside which every figure of a table is read: random, popular and oracle.

They are told under the systems and are never rows of a grid, nor in a family of tests. Each gives the mean of the
four lenses at every k over the queries with something relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.evaluate import evaluate
from bench.gains import Array, Gains
from bench.grid import LENSES
from bench.ids import Ids
from bench.join import join
from bench.metrics import MEASURES, dcg
from bench.qrels import Qrels
from bench.runs import Run
from bench.statistics.resampling import need_codes

Reference = Mapping[tuple[str, int], float]
"""The mean by lens and k."""


def references(
    qrels: Qrels, needs: Mapping[str, str], *, documents: int, ks: Sequence[int], docs: Ids | None = None
) -> dict[str, Reference]:
    """All three by name, from what nobody searched for to what nobody can beat; none where nothing is relevant.

    `needs` gives the need of each query (a query that it lacks is its own), `documents` is the size of the corpus.
    `docs` are the documents that can be retrieved, None where all that are judged can: a judged one that does not
    exist counts among the relevant, and nothing finds it.
    """
    if not (qrels.grades >= 1).any():
        return {}
    return {
        "random": chance(qrels, documents=documents, ks=ks, docs=docs),
        "popular": popular(qrels, needs, ks=ks, docs=docs),
        "oracle": oracle(qrels, ks=ks, docs=docs),
    }


def oracle(qrels: Qrels, *, ks: Sequence[int], docs: Ids | None = None) -> Reference:
    """The highest mean that any ranking of `docs` reaches: all judged ones by grade, best first."""
    best = _best(qrels, docs)
    return {(lens, k): float(MEASURES[lens](best, k).mean()) for lens in LENSES for k in ks}


def chance(qrels: Qrels, *, documents: int, ks: Sequence[int], docs: Ids | None = None) -> Reference:
    """What a random ranking has in expectation, exactly: every order of the corpus alike, the unjudged irrelevant."""
    best = _best(qrels, docs)
    expected = {k: _expected(best, documents, k) for k in ks}
    return {(lens, k): float(expected[k][lens].mean()) for lens in LENSES for k in ks}


def popular(
    qrels: Qrels, needs: Mapping[str, str], *, ks: Sequence[int], docs: Ids | None = None
) -> Reference:
    """Documents by how many other queries they are relevant to, whatever is asked; equal ones by id descending.

    The queries that share the need of the one in question do not count, else it would be told its own answer.
    Documents that nothing else asks for are not ranked.
    """
    found = evaluate(
        _popular(qrels, needs, max(ks), docs), qrels, ks=ks, measures=[MEASURES[n] for n in LENSES]
    )
    return {(lens, k): found.mean(lens, k) or 0.0 for lens in LENSES for k in ks}


def _popular(qrels: Qrels, needs: Mapping[str, str], depth: int, docs: Ids | None) -> Run:
    """The ranking of each judged query by the relevance of documents to the queries of other needs."""
    queries = qrels.judged_queries
    unit = need_codes([needs.get(query, query) for query in queries])
    ids = Ids(qrels.doc_ids)
    relevant = (qrels.grades >= 1) & _exist(qrels, docs)
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


def _best(qrels: Qrels, docs: Ids | None) -> Gains:
    """The gains of the queries with something relevant, all judged documents that exist ranked by grade."""
    exist = _exist(qrels, docs)
    query, doc = pa.array(qrels.query_ids, pa.string()), qrels.doc_array
    judged = pa.table({"query_id": query, "doc_id": doc, "score": qrels.grades}).filter(pa.array(exist))
    ranked = Run.from_table(judged, queries=qrels.judged_queries, docs=Ids(qrels.doc_ids))
    gains = join(ranked, qrels)
    some = gains.total() > 0
    return Gains(gains.ranked[some], gains.status[some], gains.ideal[some])


def _exist(qrels: Qrels, docs: Ids | None) -> npt.NDArray[np.bool_]:
    """Which judgements are of a document that can be retrieved."""
    return np.ones(len(qrels), bool) if docs is None else qrels.rows_in(docs) >= 0


def _expected(best: Gains, documents: int, k: int) -> Mapping[str, Array]:
    """The expectation of each lens for a ranking drawn at random, [q]."""
    total, ideal = best.total(), np.maximum(best.ideal, 0)
    relevant = best.relevant().sum(axis=1)
    ranks = np.arange(1, min(k, documents) + 1)
    # P(first relevant at rank r) = P(none in r - 1) * R / (N - r + 1), by sampling without replacement.
    none = np.ones(len(total))
    reciprocal = np.zeros(len(total))
    for rank in ranks:
        hit = np.minimum(relevant / (documents - rank + 1), 1)
        reciprocal += none * hit / rank
        none *= 1 - hit
    mean_gain = best.ranked.sum(axis=1) / documents
    return {
        "precision": relevant * len(ranks) / documents / k,
        "recall": relevant / total * len(ranks) / documents,
        "mrr": reciprocal,
        "ndcg": mean_gain * (1 / np.log2(ranks + 1)).sum() / dcg(ideal, k),
    }
