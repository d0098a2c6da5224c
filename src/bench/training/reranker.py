"""One reranker trained: what is read, what says when to stop, and what an adapter keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.evaluate import evaluate
from bench.metrics import MEASURES
from bench.progress import Tell
from bench.rerankers.adapter import difference
from bench.runs import Run
from bench.training.examples import Mined
from bench.training.learning import Learned, Progress, learn
from bench.training.lesson import Lesson
from bench.training.readings import Readings
from bench.training.settings import Settings

K = 5
"""What says when to stop is nDCG at this cut-off,"""
CANDIDATES = 10
"""over so many candidates of each question, reranked."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What an adapter holds, and how it came about."""

    learned: dict[str, npt.NDArray[np.float32]]
    course: Learned


def train(lesson: Lesson, mined: Mined, *, settings: Settings, checkpoint: Path, tell: Tell) -> Trained:
    """Train from the settings' base; with a checkpoint of the same lesson, go on from there."""
    candidates = mined.run(lesson.stopping, depth=CANDIDATES)
    model = settings.encoder.cross_encoder(device="cpu")
    readings = Readings(model)
    readings.check(mined.collection.query_texts.values())
    asked, told = _texts(mined, candidates)
    readings.read(
        [*(example.query for example in lesson.examples), *asked],
        [*(document for example in lesson.examples for document in example.documents), *told],
        tell=lambda done, of: tell("reading texts", done, of, ""),
    )
    course = learn(
        model,
        lesson.examples,
        score=readings.score,
        test=lambda: _ndcg(_reranked(candidates, mined, readings), mined),
        schedule=settings.schedule(seed=lesson.seed),
        checkpoint=checkpoint,
        made_of=lesson.made_of,
        tell=lambda progress: tell("training", progress.step, progress.steps, _told(progress)),
    )
    base = settings.encoder.cross_encoder(device="cpu")
    return Trained(difference(model, base, rank=settings.rank), course)


def _reranked(run: Run, mined: Mined, readings: Readings) -> Run:
    """The run in the order of the model as it is now."""
    import torch

    query, place = np.nonzero(run.rows >= 0)
    texts, docs = mined.collection.query_texts, mined.collection.docs
    pairs = [
        (texts[run.queries[i]], docs[row].contents)
        for i, row in zip(query.tolist(), run.rows[query, place].tolist(), strict=True)
    ]
    scores = np.full(run.rows.shape, -np.inf)
    with torch.inference_mode():
        scores[query, place] = readings.score(pairs).double().numpy()
    return run.reordered(scores)


def _texts(mined: Mined, run: Run) -> tuple[list[str], list[str]]:
    """The questions and documents of a run."""
    collection = mined.collection
    rows = np.unique(run.rows[run.rows >= 0]).tolist()
    return [collection.query_texts[q] for q in run.queries], [collection.docs[row].contents for row in rows]


def _ndcg(run: Run, mined: Mined) -> float:
    qrels: Any = mined.collection.qrels.of_queries(run.queries)
    mean = evaluate(run, qrels, ks=[K], measures=[MEASURES["ndcg"]]).mean("ndcg", K)
    return 0.0 if mean is None else mean


def _told(progress: Progress) -> str:
    tested = "" if progress.tested is None else f", nDCG@{K} {progress.tested:.3f}"
    return f"loss {progress.loss:.2f}{tested}"
