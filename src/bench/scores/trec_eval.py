"""What trec_eval would make of a run and judgements, where its rules are on purpose not ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.qrels import Qrels
from bench.runs import Run


@dataclass(frozen=True, eq=False)
class AsTrecEval:
    """A run and judgements after trec_eval's rules, and how much each rule has touched.

    Evaluated with queries without a relevant document as 0 (which is trec_eval's fourth rule), they give what
    trec_eval gives.
    """

    run: Run
    qrels: Qrels
    missing: tuple[str, ...]
    """Judged queries for which the run has nothing; trec_eval leaves them out of its means unless asked (-c)."""
    reordered: int
    """Queries whose order changes because scores are compared in single precision."""
    cut: int
    """Judgements whose fractional grade is cut to a whole one, towards 0."""

    def told(self) -> Iterator[str]:
        """What the rules have changed here, a sentence each."""
        if self.missing:
            yield f"trec_eval's mean leaves out {len(self.missing)} judged queries that it does not answer"
        if self.reordered:
            yield f"in single precision the order of {self.reordered} queries is another"
        if self.cut:
            yield f"{self.cut} fractional grades in the judgements (qrels) are cut to whole ones"


def as_trec_eval(run: Run, qrels: Qrels) -> AsTrecEval:
    """A run and judgements as trec_eval (version 9) sees them.

    Scores become single precision, and those that are equal then go by document id descending; grades are cut
    to whole numbers; judged queries that the run does not answer are dropped.
    """
    with np.errstate(over="ignore"):  # beyond single precision a score is infinite there
        single = np.where(run.rows < 0, -np.inf, run.scores.astype(np.float32))
    rounded = dataclasses.replace(run, scores=single)
    answered = {query for query, back in zip(run.queries, run.returned, strict=True) if back}
    whole = np.trunc(qrels.grades)
    kept = dataclasses.replace(qrels, grades=whole).of_queries(answered)
    return AsTrecEval(
        rounded,
        kept,
        missing=tuple(query for query in qrels.judged_queries if query not in answered),
        reordered=int((rounded.rows != run.rows).any(axis=1).sum()),
        cut=int((whole != qrels.grades).sum()),
    )
