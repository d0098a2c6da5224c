"""A token budget in the place of k: each query gets the longest prefix of its ranking that fits.

A cut-off k hands over so many chunks, long or short; a budget hands over as many as the context has room for, and
another number for every query and system. So what could have been had must not hang on that number: the ideal of
nDCG is over all judged documents, not cut, for else a system would gain by handing over one long chunk. P and F1
alone divide by it. Where not even the first chunk fits, nothing is handed over and the query counts 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bench.evaluate import Evaluation, counts
from bench.gains import EMPTY, Array, Gains
from bench.join import aligned, join
from bench.measure import Measure
from bench.qrels import Qrels
from bench.runs import Run

Counts = npt.NDArray[np.int64]


def tokens_by_place(run: Run, lengths: Counts) -> Counts:
    """How many tokens stand at each place of a run, 0 behind the end of a list, [q, depth].

    `lengths` are the tokens of each document by row of the run's vocabulary.
    """
    return np.where(run.rows >= 0, lengths[run.rows], 0)


def context_tokens(run: Run, lengths: Counts, k: npt.ArrayLike) -> Counts:
    """How many tokens the first k chunks send to the model, [q]; k is one number, or one of each query [q]."""
    within = np.arange(run.depth) < np.asarray(k)[..., np.newaxis]
    return np.asarray(np.where(within, tokens_by_place(run, lengths), 0).sum(axis=1))


def chunks_within(tokens: Counts, returned: npt.NDArray[np.integer], *, budget: int) -> Counts:
    """How many chunks of each ranking fit, [q]: the longest prefix of at most `budget` tokens [q, depth]."""
    fitting = (np.cumsum(tokens, axis=1) <= budget).sum(axis=1)
    return np.asarray(np.minimum(fitting, returned), np.int64)


def evaluate_within(
    run: Run,
    qrels: Qrels,
    *,
    lengths: Counts,
    budgets: Sequence[int],
    measures: Sequence[Measure],
    max_grade: float | None = None,
) -> Evaluation:
    """Every measure within every budget; the values go by budget where those of `evaluate` go by k."""
    gains = join(run, qrels, max_grade=max_grade)
    tokens = aligned(tokens_by_place(run, lengths), run, qrels, empty=0)
    returned = (gains.status != EMPTY).sum(axis=1)
    values = {}
    for budget in budgets:
        chunks = chunks_within(tokens, returned, budget=budget)
        handed_over = _handed_over(gains, chunks)
        for measure in measures:
            found = _values(measure, gains, handed_over, chunks)
            values[measure.key, budget] = np.where(counts(measure, gains), found, np.nan)
    unanswered = (gains.total() > 0) & (returned == 0)
    return Evaluation(qrels.judged_queries, values, gains, unanswered)


def _values(measure: Measure, gains: Gains, handed_over: Gains, chunks: Counts) -> Array:
    """The value of each query, [q]; of its own k where the measure divides by it, all queries of one k at once."""
    if not measure.has_k:
        return measure(gains, 1)
    if not measure.divides_by_k:
        return measure(handed_over, max(int(chunks.max(initial=1)), _useful(gains)))
    found = np.empty(len(chunks))
    for k in np.unique(chunks).tolist():
        found[chunks == k] = measure(_of(handed_over, chunks == k), max(k, 1))
    return found


def _useful(gains: Gains) -> int:
    """The most judged documents of one query that any ideal takes: at that rank an ideal is not cut."""
    counts = [(gains.ideal > 0).sum(axis=-1)]
    if gains.covering is not None:
        counts.append((gains.covering != 0).sum(axis=-1))
    return int(np.max(counts, initial=1))


def _handed_over(gains: Gains, chunks: Counts) -> Gains:
    """The same as if nothing had come back behind the first chunks [q] of each query."""
    beyond = np.arange(gains.ranked.shape[1]) >= chunks[:, np.newaxis]
    return replace(
        gains,
        ranked=np.where(beyond, 0.0, gains.ranked),
        status=np.where(beyond, np.int8(EMPTY), gains.status),
        covers=None if gains.covers is None else np.where(beyond, np.uint64(0), gains.covers),
    )


def _of(gains: Gains, chosen: npt.NDArray[np.bool_]) -> Gains:
    """The gains of some queries, for a measure that knows of no parts."""
    return Gains(gains.ranked[chosen], gains.status[chosen], gains.ideal[chosen], gains.max_grade)
