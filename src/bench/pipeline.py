"""One job: index, search, rerank, evaluate at every k, write. What was done before is not done again."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.artifacts import write_table
from bench.cache import Cache
from bench.cached import CachedScorer, cached
from bench.identity import digest, identity, map_parts
from bench.job import Job
from bench.model_folders import user_cache
from bench.record import folder_of, is_done, record_failure, record_result, stored
from bench.runs import Run
from bench.timing import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rankings of a job and what was worth recording on the way."""

    run: Run
    facts: Mapping[str, Any]


def run_job(job: Job) -> None:
    """Do a job and write its folder; a failure is recorded there, never raised."""
    with folder_of(job).locked():
        # Another process may have done it while this one waited.
        if is_done(job):
            return
        try:
            ranked = rank(job)
            record_result(job, ranked.run, ranked.facts)
        except Exception as error:
            log.debug("job %s", job.label, exc_info=True)
            if job.fresh:
                folder_of(job).discard("manifest.json")  # else the earlier figures would hide the failure
            record_failure(job, error)


def rank(job: Job) -> Ranked:
    """The rankings that the job has stored, else those it makes: another k or new judgements search nothing."""
    if found := stored(job):
        return Ranked(*found)
    cache = cache_of(job)
    first = first_stage(job, cache)
    reranker = map_parts(job.system.reranker, lambda part: cached(part, cache, anew=job.fresh))
    run = reranker.rerank(first.run, job.collection)
    scorer = getattr(reranker, "scorer", None)
    return Ranked(
        run, {**first.facts, "reranker": scorer.facts() if isinstance(scorer, CachedScorer) else None}
    )


def first_stage(job: Job, cache: Cache) -> Ranked:
    """The retriever's run, made once per corpus, queries, retriever and depth."""
    collection = job.collection
    made_from = (
        version("bench"),
        collection.corpus_digest,
        collection.queries_digest,
        identity(job.system.retriever),
    )
    key = digest(*made_from, str(job.system.depth))
    with cache.lock("runs", key):
        if not job.fresh and (entry := cache.entry("runs", key)):
            table = pq.read_table(entry / "run.parquet")
            run = Run.from_table(table, queries=collection.query_ids, docs=collection.doc_ids)
            facts = json.loads((entry / "facts.json").read_text())
            return Ranked(run, {**facts, "index_seconds": None, "throughput": None})
        ranked = search(job, cache)

        def save(folder: Path) -> None:
            write_table(ranked.run.to_table())(folder / "run.parquet")
            (folder / "facts.json").write_text(json.dumps(ranked.facts, default=str))

        cache.put("runs", key, save)
        return ranked


def search(job: Job, cache: Cache) -> Ranked:
    """Index the documents and search all queries; times are kept only where no part of them came from a cache."""
    parts: list[Any] = []

    def wrapped(part: Any) -> Any:
        made = cached(part, cache, anew=job.fresh)
        parts.extend([made] if made is not part else [])
        return made

    clock = Clock()
    with clock.stage("index"):
        index = map_parts(job.system.retriever, wrapped).index(job.collection.docs)
    indexed_anew = all(part.fresh and not getattr(part, "reused", 0) for part in parts)
    with clock.stage("search"):
        run = index.search(job.collection.queries, min(job.system.depth, len(job.collection.docs)))
    searched_anew = indexed_anew and all(not getattr(part, "reused", 0) for part in parts)
    asked = len(job.collection.queries)
    facts = {
        "index_seconds": clock.spent["index"] if indexed_anew and not job.system.elsewhere else None,
        "throughput": asked / clock.spent["search"] if searched_anew and not job.system.stored else None,
        "index": index.facts(),
    }
    index.close()
    return Ranked(run, facts)


def cache_of(job: Job) -> Cache:
    """The cache that a job uses."""
    return Cache(Path(job.cache_dir) if job.cache_dir else user_cache())
