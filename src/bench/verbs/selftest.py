"""Every measure that trec_eval has too, beside trec_eval's own code, on the user's files and machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bench.errors import BenchError, missing_library
from bench.evaluate import evaluate
from bench.gains import Array
from bench.ids import Ids
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.reading import read_qrels, read_run
from bench.runs import Run
from bench.scores.trec_eval import as_trec_eval
from bench.verbs.arguments import Arguments

TOLERANCE = 1e-12
KS = (1, 3, 5, 10, 20, 100, 1000)
CUT = {"precision": "P", "recall": "recall", "ndcg": "ndcg_cut", "ap": "map_cut", "success": "success"}
"""Measures at a cut-off, and what trec_eval calls them."""
WHOLE = {"mrr": "recip_rank", "r_precision": "Rprec", "bpref": "bpref"}
"""Measures that trec_eval has over the whole ranking alone."""

ABOUT = """\
Compare every measure that trec_eval has too with trec_eval's own code (pytrec_eval), query by query: on the files
given, or on made-up judgements and rankings with equal scores, negative grades and missing queries."""
EXAMPLES = """\
examples:
  python -m bench selftest
  python -m bench selftest --qrels qrels.txt --run bm25.trec dense.trec

Exit codes: 0 all differences are within 1e-12, 1 one is not, 2 asked wrongly.
"""


@dataclass(frozen=True)
class Compared:
    """One measure at a level of relevance: the largest difference at any query and any cut-off."""

    measure: Measure
    difference: float
    queries: int
    """How many queries were compared, those of all runs added up."""


@dataclass(frozen=True)
class Selftest:
    """What came of the comparison, and what was worth saying on the way."""

    compared: tuple[Compared, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether no difference is larger than rounding."""
        return all(one.difference <= TOLERANCE for one in self.compared)

    def lines(self) -> Iterator[str]:
        """A line a measure, and what was compared."""
        yield from self.notes
        yield f"{'measure':18}{'largest difference':>20}{'queries':>10}"
        for one in self.compared:
            verdict = "" if one.difference <= TOLERANCE else "  differs"
            yield f"{one.measure!s:18}{one.difference:20.1e}{one.queries:10}{verdict}"
        yield "compared by the rules of trec_eval (evaluate --trec-eval), which on purpose are not all ours"
        told = "equal to" if self.passed else "NOT equal to"
        yield f"{told} pytrec_eval-terrier {version('pytrec-eval-terrier')} within {TOLERANCE:g}"


def selftest(words: Sequence[str]) -> Selftest:
    """The comparison that the words of the verb ask for."""
    made = Arguments("selftest", about=ABOUT, examples=EXAMPLES)
    made.add_argument("--qrels", type=Path, metavar="FILE", help="the judgements")
    made.add_argument("--run", type=Path, nargs="+", action="extend", metavar="FILE", help="rankings")
    given = made.read(words)
    if (given.qrels is None) != (given.run is None):
        made.error("--qrels and --run go together")
    if given.qrels is None:
        found = compare([made_up(seed=0)])
        return replace(found, notes=("on made-up judgements and a made-up ranking", *found.notes))
    qrels = read_qrels(given.qrels).qrels
    return compare([(read_run(path).run, qrels) for path in given.run])


def compare(pairs: Sequence[tuple[Run, Qrels]]) -> Selftest:
    """Every shared measure on these runs and their judgements; Unavailable without pytrec_eval."""
    try:
        import pytrec_eval
    except ImportError as error:
        raise missing_library("pytrec_eval", extra="trec") from error
    found: dict[Measure, list[Array]] = {}
    notes: list[str] = []
    for run, qrels in pairs:
        seen = as_trec_eval(run, qrels)
        judged = {query: grades for query, grades in seen.qrels.by_query.items() if max(grades.values()) >= 0}
        notes += seen.told()
        if left := len(seen.qrels.judged_queries) - len(judged):
            notes.append(
                f"not compared: {left} queries with no grade of 0 or more, which pytrec_eval cannot take"
            )
        if not judged:
            raise BenchError("no query can be compared: the run answers none that has a grade of 0 or more")
        whole = {
            query: {doc: int(grade) for doc, grade in grades.items()} for query, grades in judged.items()
        }
        levels = (1, 2) if max(max(grades.values()) for grades in whole.values()) > 1 else (1,)
        for level in levels:
            asked = {*WHOLE.values(), *(f"{name}.{','.join(map(str, KS))}" for name in CUT.values())}
            evaluator = pytrec_eval.RelevanceEvaluator(whole, asked, relevance_level=level)
            theirs = evaluator.evaluate(_nested(run, set(whole)))
            for measure, differences in _differences(seen.run, seen.qrels, theirs, level):
                found.setdefault(measure, []).append(differences)
    compared = [
        Compared(measure, max(float(one.max()) for one in runs), sum(len(one) for one in runs))
        for measure, runs in found.items()
    ]
    return Selftest(tuple(compared), tuple(dict.fromkeys(notes)))


def made_up(*, seed: int, queries: int = 300, docs: int = 60, depth: int = 30) -> tuple[Run, Qrels]:
    """A run and judgements with all that is awkward.

    Equal scores, some of them equal in single precision alone; negative grades, queries without a relevant
    document, queries that the run lacks and queries that nobody has judged.
    """
    random = np.random.default_rng(seed)
    names = tuple(f"q{i:03}" for i in range(queries))
    ids = Ids(f"d{i}" for i in range(docs))
    rows = np.array([random.permutation(docs)[:depth] for _ in names], np.int32)
    rows[np.arange(depth) >= random.integers(1, depth + 1, queries)[:, np.newaxis]] = -1
    scores = random.integers(-20, 20, rows.shape) / 4 + random.integers(0, 2, rows.shape) * 1e-9
    answered = random.random(queries) > 0.1
    run = Run(tuple(np.array(names)[answered].tolist()), ids, rows[answered], scores[answered])
    tops = random.integers(0, 5, queries)
    grades = {
        name: {ids[int(row)]: float(random.integers(-2, top + 1)) for row in random.permutation(docs)[:20]}
        for name, top, judged in zip(names, tops, random.random(queries) > 0.1, strict=True)
        if judged
    }
    return run, Qrels.of(grades)


def _differences(
    run: Run, qrels: Qrels, theirs: dict[str, dict[str, float]], level: int
) -> Iterator[tuple[Measure, Array]]:
    """By measure the largest difference over the cut-offs, one number a query."""
    for name, symbol in (*CUT.items(), *WHOLE.items()):
        if name == "ndcg" and level > 1:
            continue  # it knows no level
        measure = MEASURES[name] if level == 1 else MEASURES[name].given({"rel": level})
        ks = KS if name in CUT else (max(1, run.depth),)
        ours = evaluate(run, qrels, ks=ks, measures=[measure], no_relevant_is_zero=True)
        at = [i for i, query in enumerate(ours.queries) if query in theirs]
        by_k = [
            [
                abs(
                    ours.values[measure.key, k][i]
                    - theirs[ours.queries[i]][f"{symbol}_{k}" if name in CUT else symbol]
                )
                for i in at
            ]
            for k in ks
        ]
        yield measure, np.max(np.array(by_k), axis=0)


def _nested(run: Run, queries: set[str]) -> dict[str, dict[str, float]]:
    """The run as pytrec_eval takes it, these queries alone."""
    return {
        query: {run.docs[row]: score for row, score in zip(rows, scores, strict=True) if row >= 0}
        for query, rows, scores in zip(run.queries, run.rows.tolist(), run.scores.tolist(), strict=True)
        if query in queries
    }
