"""Whether judgements and a run belong together: queries and documents in common, grades within the scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from bench.errors import BenchError, listing
from bench.gains import UNJUDGED, Gains
from bench.measure import Measure
from bench.metrics import STEEPEST, err, ndcg_exp
from bench.qrels import Qrels
from bench.reading.oddities import differing_in_form
from bench.runs import Run

LOOKS_CUT = 10
"""From so many places on rankings of equal length look as if they had been cut."""


def refuse_above(qrels: Qrels, top: float | None) -> None:
    """BenchError where a grade is above the declared top of the scale, None for a scale without one."""
    above = sorted({grade for grade in qrels.grades.tolist() if top is not None and grade > top})
    if above:
        raise BenchError(f"grades above the top of the scale, {top:g}: {listing(f'{g:g}' for g in above)}")


def refuse_steep(qrels: Qrels, top: float | None, measures: Iterable[Measure]) -> None:
    """BenchError where a measure with the gain 2^g - 1 is asked of a scale with so many grades that it overflows."""
    highest = float(qrels.grades.max(initial=1.0)) if top is None else top
    asked = [str(measure) for measure in measures if measure in (err, ndcg_exp)]
    if highest > STEEPEST and asked:
        raise BenchError(
            f"{' and '.join(dict.fromkeys(asked))}: the gain 2^g - 1 has no use for grades up to {highest:g} (at most "
            f"{STEEPEST}); leave it out, or judge on a shorter scale"
        )


def refuse_unrelated(name: str, run: Run, qrels: Qrels) -> None:
    """BenchError where the run, of this name, answers none of the judged queries."""
    if not set(run.queries) & set(qrels.judged_queries):
        alike = "; ".join(other_forms(run.queries, qrels.judged_queries, what="query ids"))
        raise BenchError(
            f"run {name} and the judgements have no query in common: it answers {listing(run.queries, most=3)}; "
            f"judged are {listing(qrels.judged_queries, most=3)}{alike and f' ({alike})'}"
        )


def oddities(run: Run, qrels: Qrels, gains: Gains, *, largest_k: int) -> Iterator[str]:
    """What looks as if ids were meant to be others or a run were cut too soon; `gains` are those of the two."""
    yield from other_forms(run.queries, qrels.judged_queries, what="query ids")
    yield from other_forms(run.docs.array, qrels.doc_array, what="document ids")
    if not (gains.status > UNJUDGED).any():
        yield "no document that it returned is judged; are its ids those of the judgements?"
    # Rankings that end by themselves seldom do so at one and the same place, if it is not an early one.
    if largest_k > run.depth >= LOOKS_CUT and (run.returned == run.depth).mean() > 0.5:
        yield f"most of its rankings end at {run.depth}; if they were cut there, a k of {largest_k} says too little"


def other_forms(ids: Sequence[str] | pa.Array, judged: Sequence[str] | pa.Array, *, what: str) -> list[str]:
    """A note where ids and judged ones differ in nothing but their Unicode form; `what` names their kind."""
    arrays = (one if isinstance(one, pa.Array) else pa.array(one, pa.string()) for one in (ids, judged))
    alike = differing_in_form(*arrays)
    if not alike:
        return []
    return [
        f"{len(alike)} {what} are judged in another Unicode form (NFC, NFD) and so are not the same: "
        f"{listing(alike, most=3)}"
    ]
