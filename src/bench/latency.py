"""The latency pass: after the jobs, every system of the command in turn, so that none has a quieter machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bench.cache import Cache
from bench.cached import CachedEmbedder, CachedScorer, FreshQueries, cached
from bench.collection import Query
from bench.identity import map_parts
from bench.job import Job
from bench.pipeline import cache_of
from bench.progress import spinning
from bench.record import folder_of
from bench.retrievers import Index
from bench.samples import record_latency, timed_ks
from bench.timing import Call, Clock, Timed, latency


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one job that make the same call and so share its samples."""

    job: Job
    ks: tuple[int, ...]
    call: Call


def time_systems(jobs: Sequence[Job]) -> list[str]:
    """Time the finished jobs that have not been timed at all their k, and store the samples with them.

    Returns why a system could not be timed, where one could not; its figures stay.
    """
    waiting = [job for job in jobs if job.timing.enabled and folder_of(job).manifest and not is_timed(job)]
    if not waiting:
        return []
    troubles: list[str] = []
    with spinning(f"timing {len(waiting)} systems"):
        opened: list[Index] = []
        cells: dict[str, Cells] = {}
        for job in waiting:
            try:
                cells |= {f"{job.id}-{number}": cell for number, cell in enumerate(_cells(job, opened))}
            except Exception as error:  # whatever a part raises: the sweep's figures must not be lost for it
                troubles.append(f"{job.label} was not timed: {type(error).__name__}: {error}")
        samples, failed = latency({key: cell.call for key, cell in cells.items()}, seed=waiting[0].seed)
        for index in opened:
            index.close()
    for job in waiting:
        own = {key: cell for key, cell in cells.items() if cell.job is job}
        troubles += [f"{job.label} was not timed: {failed[key]}" for key in own if key in failed]
        timed = [(k, samples[key]) for key, cell in own.items() if key not in failed for k in cell.ks]
        if timed:
            by_k = [table.append_column("k", pa.array([k] * len(table), pa.int64())) for k, table in timed]
            record_latency(folder_of(job), pa.concat_tables(by_k))
    return list(dict.fromkeys(troubles))


def is_timed(job: Job) -> bool:
    """Whether every k of the job has its latency."""
    return not job.fresh and set(job.ks) <= set(timed_ks(folder_of(job)))


def _cells(job: Job, opened: list[Index]) -> list[Cells]:
    """The calls of a job: one a k without a reranker, one for all with one, which always works at its own depth."""
    clock, cache = Clock(), cache_of(job)
    index = map_parts(job.system.retriever, lambda part: _timed(part, clock, cache, job.system.depth)).index(
        job.collection.docs
    )
    opened.append(index)
    depth = getattr(job.system.reranker, "depth", None)
    reranker = Timed(job.system.reranker, clock) if depth else job.system.reranker
    queries = _sampled(job)
    # As in the job itself: the reranker's candidates, never more than are stored, never fewer than are asked for.
    searched = max(min(depth, job.system.depth), *job.ks) if depth else 0
    groups = [(job.ks, searched)] if depth else [((k,), k) for k in job.ks]

    def call(depth: int) -> Call:
        def make(position: int) -> object:
            run = index.search([queries[position]], depth)
            return reranker.rerank(run, job.collection).top(depth)

        ids = [query.id for query in queries]
        return Call(ids, make, clock, job.timing.calls, job.timing.seconds / len(groups))

    return [Cells(job, tuple(ks), call(depth)) for ks, depth in groups]


def _timed(part: Any, clock: Clock, cache: Cache, depth: int) -> Any:
    """A part as it is timed: documents from the cache, queries never, a store as it searched for the stored run."""
    part = part.at_depth(depth) if hasattr(part, "at_depth") else part
    made = cached(part, cache)
    if isinstance(made, CachedScorer):
        return part
    if isinstance(made, CachedEmbedder):
        return Timed(FreshQueries(made), clock)
    if made is not part or hasattr(part, "index"):
        return Timed(made, clock, stage="fuse" if hasattr(part, "sides") else None)
    return part


def _sampled(job: Job) -> list[Query]:
    """The queries that are timed: a seeded draw of those with judgements."""
    judged = set(job.collection.qrels.judged_queries)
    queries = [query for query in job.collection.queries if query.id in judged]
    count = min(job.timing.queries, len(queries))
    chosen = np.random.default_rng(job.seed).permutation(len(queries))[:count]
    return [queries[i] for i in sorted(chosen)]
