"""The collection of a training and what the configured retrievers find in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.collection import Collection
from bench.config import composed
from bench.errors import BenchError
from bench.job import Job, job_of, made
from bench.loading import Collections
from bench.pipeline import cache_of, first_stage
from bench.runs import Run
from bench.training.examples import check_within
from bench.training.folds import relevant_documents
from bench.training.settings import Settings


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be trained on, checked: nothing has been computed yet."""

    settings: Settings
    jobs: dict[str, Job]
    """A job a retriever, by its name; of it the first stage is run."""
    seed: int

    @property
    def collection(self) -> Collection:
        """The one that all of them search."""
        return next(iter(self.jobs.values())).collection


def plan(overrides: Sequence[str]) -> Plan:
    """Compose and check; BenchError or Unavailable before any work."""
    words = ["+train=reranker", *overrides]
    cfg = composed(words)
    settings: Settings = made(cfg, "train")
    load = Collections()
    jobs = {}
    for name, (search, _) in settings.searches.items():
        of_retriever = composed([*words, *search, f"depth={settings.depth}", "k=1", "reranker=none"])
        job = job_of(of_retriever, load=load)
        job.system.check(len(job.collection.docs))
        jobs[name] = job
    settings.encoder.check()
    collection = next(iter(jobs.values())).collection
    if not relevant_documents(collection):
        raise BenchError(f"{collection.name} has no judgements to learn from: none calls a document relevant")
    if settings.within:
        check_within(collection, settings.within)
    return Plan(settings, jobs, int(cfg.seed))


def searched(of: Plan) -> dict[str, Run]:
    """The first stage of every retriever, from the cache where it was made before."""
    return {name: first_stage(job, cache_of(job)).run for name, job in of.jobs.items()}
