"""Collections and runs in a few words, shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.ids import Ids
from bench.qrels import Qrels
from bench.runs import Run

os.environ.setdefault("HF_HUB_OFFLINE", "1")
TINY = Path(__file__).parent / "tiny"
COLLECTIONS = Path(os.environ.get("BENCH_COLLECTIONS", Path(__file__).parents[2] / "shared" / "collections"))


def make_run(rankings: Mapping[str, Sequence[str] | Mapping[str, float]], docs: Sequence[str] = ()) -> Run:
    """A run from rankings, best first, or from scores by document."""
    scored = {
        query: dict(ranking)
        if isinstance(ranking, Mapping)
        else {doc: -float(i) for i, doc in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    ids = Ids({*docs, *(doc for ranking in scored.values() for doc in ranking)})
    depth = max((len(ranking) for ranking in scored.values()), default=0)
    rows = np.full((len(scored), depth), -1, np.int32)
    scores = np.full((len(scored), depth), -np.inf)
    for i, ranking in enumerate(scored.values()):
        rows[i, : len(ranking)] = ids.rows(ranking)
        scores[i, : len(ranking)] = list(ranking.values())
    return Run(tuple(scored), ids, rows, scores)


def ranking_of(run: Run, query: str) -> list[str]:
    """The document ids of one query, best first."""
    rows = run.rows[run.queries.index(query)]
    return [run.docs[int(row)] for row in rows if row >= 0]


def make_qrels(judgements: Mapping[str, Mapping[str, float]], **parts: Mapping[str, Sequence[str]]) -> Qrels:
    """Qrels from `{query: {document: grade}}`."""
    return Qrels.of(judgements, parts=parts)


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """An empty working folder and an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path
