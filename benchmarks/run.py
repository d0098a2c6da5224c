"""Speed beside other tools, in one process and in turn, printed as ratios: `make benchmark`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytrec_eval
from clock import seconds

from bench.evaluate import Evaluation, evaluate
from bench.ids import Ids
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.reading import read_qrels, read_run
from bench.runs import Run

QUERIES, DEPTH, JUDGED, DOCUMENTS = 10_000, 100, 10, 100_000
KS = (1, 3, 5, 10, 20)
LENSES = ("precision", "recall", "mrr", "ndcg")
CUTS = ",".join(map(str, KS))
ASKED = {f"P.{CUTS}", f"recall.{CUTS}", f"ndcg_cut.{CUTS}", "recip_rank"}


def made() -> tuple[Run, Qrels]:
    """A run and judgements of it, the same every time."""
    random = np.random.default_rng(0)
    ids = Ids(f"d{i:06d}" for i in range(DOCUMENTS))
    queries = tuple(f"q{i:05d}" for i in range(QUERIES))
    rows = np.stack([random.choice(DOCUMENTS, DEPTH, replace=False) for _ in queries])
    run = Run(queries, ids, rows, random.random(rows.shape))
    judgements = {
        query: {
            ids[int(row)]: int(random.integers(0, 3))
            for row in random.choice(run.rows[i], JUDGED, replace=False)
        }
        for i, query in enumerate(queries)
    }
    return run, Qrels.of(judgements)


def measures(run: Run, qrels: Qrels) -> None:
    """A grid of 4 measures at 5 k over 10 000 queries of depth 100, from a run and qrels in memory."""
    ranked = {
        query: {
            run.docs[int(row)]: float(score) for row, score in zip(run.rows[i], run.scores[i], strict=True)
        }
        for i, query in enumerate(run.queries)
    }
    whole = {
        query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in qrels.by_query.items()
    }
    evaluator = pytrec_eval.RelevanceEvaluator(whole, ASKED)
    ours, theirs = seconds(lambda: scored(run, qrels), lambda: evaluator.evaluate(ranked))
    print(f"measures: {QUERIES} queries x {DEPTH}, {len(LENSES)} measures at {len(KS)} k, from memory")
    print(f"  bench        {ours:8.3f} s  {QUERIES / ours:10.0f} queries a second")
    print(f"  pytrec_eval  {theirs:8.3f} s  {QUERIES / theirs:10.0f} queries a second")
    print(f"  ratio        {theirs / ours:8.1f}")


def files(run: Run, qrels: Qrels) -> None:
    """The same from files of TREC, a run of a million lines and its judgements, each tool with its own reading."""
    with tempfile.TemporaryDirectory() as folder:
        of_run, of_qrels = Path(folder) / "run.trec", Path(folder) / "qrels.txt"
        write(run, qrels, of_run=of_run, of_qrels=of_qrels)
        ours, theirs = seconds(
            lambda: read_and_scored(of_run, of_qrels), lambda: by_pytrec_eval(of_run, of_qrels)
        )
        memory = {name: peak(name, of_run, of_qrels) for name in ("read_and_scored", "by_pytrec_eval")}
    print(f"files: the same from a run of {QUERIES * DEPTH} lines and qrels of {QUERIES * JUDGED}")
    print(f"  bench        {ours:8.3f} s  {memory['read_and_scored']:6.0f} MB at most")
    print(f"  pytrec_eval  {theirs:8.3f} s  {memory['by_pytrec_eval']:6.0f} MB at most")
    print(f"  ratio        {theirs / ours:8.1f}")


def scored(run: Run, qrels: Qrels) -> Evaluation:
    return evaluate(run, qrels, ks=KS, measures=[MEASURES[name] for name in LENSES])


def read_and_scored(run: Path, qrels: Path) -> Evaluation:
    return scored(read_run(run).run, read_qrels(qrels).qrels)


def by_pytrec_eval(run: Path, qrels: Path) -> object:
    with qrels.open() as judged, run.open() as ranked:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), ASKED)
        return evaluator.evaluate(pytrec_eval.parse_run(ranked))


def write(run: Run, qrels: Qrels, *, of_run: Path, of_qrels: Path) -> None:
    hits = zip(
        *(run.to_table()[name].to_pylist() for name in ("query_id", "doc_id", "rank", "score")), strict=True
    )
    of_run.write_text("".join(f"{query} Q0 {doc} {rank} {score!r} tag\n" for query, doc, rank, score in hits))
    pairs = zip(qrels.query_ids, qrels.doc_ids, qrels.grades.tolist(), strict=True)
    of_qrels.write_text("".join(f"{query} 0 {doc} {grade:.0f}\n" for query, doc, grade in pairs))


def peak(task: str, *files: Path) -> float:
    """The most memory that a process of its own holds for a task, in MB, less what it holds before (Linux)."""
    code = (
        "import re, sys, pathlib, run\n"
        "def most(): return int(re.search(r'VmHWM:\\s*(\\d+)', pathlib.Path('/proc/self/status').read_text())[1])\n"
        "before = most()\n"
        f"run.{task}(*map(pathlib.Path, sys.argv[1:]))\n"
        "print((most() - before) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    example = made()
    measures(*example)
    files(*example)
