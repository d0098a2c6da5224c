"""One job: load and check, index, search, rerank, evaluate at every k, write."""

from __future__ import annotations

import json
import logging
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import timing
from bench.artifacts import OUTPUTS, JobFolder, keep_collection, write_table, write_trec
from bench.cache import Cache, CachedEmbedder, CachedScorer, CachedStore, default_folder
from bench.config import Job
from bench.errors import BenchError, Unsuitable
from bench.evaluate import Evaluation, evaluate
from bench.grid import SCHEMA_VERSION, MetricGrid, per_query_table
from bench.identity import digest, identity, map_parts
from bench.run import Run
from bench.timing import Clock

log = logging.getLogger(__name__)

TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rankings of a job and what was worth recording on the way."""

    run: Run
    facts: Mapping[str, Any]


def run_job(job: Job) -> None:
    """Do a job, or what is missing of it, and write its folder; a failure is recorded, never raised."""
    folder = folder_of(job)
    with folder.locked():
        try:
            ranked = _stored(job, folder) or rank(job)
            evaluation = evaluate(ranked.run, job.collection.qrels, ks=job.ks, measures=job.measures)
            write(job, folder, ranked, evaluation)
        except Exception as error:
            log.debug("job %s", job.label, exc_info=True)
            record_failure(job, folder, error)


def rank(job: Job) -> Ranked:
    """Search at the job's depth and rerank, from the cache where the work has been done before."""
    cache = cache_of(job)
    first = first_stage(job, cache)
    reranker = map_parts(job.system.reranker, lambda part: cached_part(part, cache))
    run = reranker.rerank(first.run, job.collection)
    scorer = getattr(reranker, "scorer", None)
    cut = {"pairs_cut": scorer.pairs_cut, "pair_tokens_cut": scorer.tokens_cut} if isinstance(scorer, CachedScorer) else {}
    return Ranked(run, {**first.facts, **cut})


def first_stage(job: Job, cache: Cache) -> Ranked:
    """The retriever's run, made once per corpus, queries, retriever and depth."""
    collection = job.collection
    made_from = (collection.corpus_digest, collection.queries_digest, identity(job.system.retriever))
    key = digest(*made_from, str(job.system.depth))
    with cache.lock("runs", key):
        if not job.fresh and (entry := cache.entry("runs", key)):
            table = pq.read_table(entry / "run.parquet")
            run = Run.from_table(table, queries=collection.query_ids, docs=collection.doc_ids)
            return Ranked(run, json.loads((entry / "facts.json").read_text()))
        ranked = _search(job, cache)

        def save(folder: Path) -> None:
            pq.write_table(ranked.run.to_table(), folder / "run.parquet")
            (folder / "facts.json").write_text(json.dumps(ranked.facts, default=str))

        cache.put("runs", key, save)
        return ranked


def _search(job: Job, cache: Cache) -> Ranked:
    wrapped: list[Any] = []

    def cached(part: Any) -> Any:
        made = cached_part(part, cache)
        if made is not part:
            wrapped.append(made)
        return made

    retriever = map_parts(job.system.retriever, cached)
    clock = Clock()
    with clock.stage("index"):
        index = retriever.index(job.collection.docs)
    anew = all(part.fresh for part in wrapped)
    with clock.stage("search"):
        run = index.search(job.collection.queries, job.system.depth)
    facts = {
        "index_seconds": clock.spent["index"] if anew else None,
        "index_seconds_missing": None if anew else "vectors or index came from the cache",
        "throughput_queries_per_second": len(job.collection.queries) / clock.spent["search"] if anew else None,
        "index": index.facts(),
    }
    index.close()
    return Ranked(run, facts)


def cache_of(job: Job) -> Cache:
    """The cache that a job uses."""
    return Cache(Path(job.cache_dir) if job.cache_dir else default_folder())


def cached_part(part: Any, cache: Cache) -> Any:
    """The part with a cache around it, where it is of a kind that has one."""
    if hasattr(part, "embed_documents"):
        return CachedEmbedder(part, cache)
    if hasattr(part, "build") and hasattr(part, "open"):
        return CachedStore(part, cache)
    if hasattr(part, "score"):
        return CachedScorer(part, cache)
    return part


def is_done(job: Job) -> bool:
    """Whether the folder holds every cell that the job asks for, on these judgements."""
    manifest = folder_of(job).manifest
    return (
        not job.fresh
        and manifest is not None
        and manifest["digests"] == digests(job)
        and manifest["schema_version"] == SCHEMA_VERSION
        and set(job.ks) <= set(manifest["ks"])
        and {measure.name for measure in job.measures} <= set(manifest["measures"])
    )


def _stored(job: Job, folder: JobFolder) -> Ranked | None:
    """The rankings of an earlier finish of the same job: another k or new judgements search nothing."""
    manifest = folder.manifest
    if job.fresh or manifest is None or manifest["schema_version"] != SCHEMA_VERSION:
        return None
    return Ranked(folder.run(job.collection), manifest["facts"])


def write(job: Job, folder: JobFolder, ranked: Ranked, evaluation: Evaluation) -> None:
    """Write a finished job: cells that it had at other k stay, where they were measured on the same judgements."""
    earlier = folder.manifest
    if earlier and earlier["digests"] == digests(job) and not job.fresh:
        ks = tuple(sorted({*job.ks, *earlier["ks"]}))
        if ks != job.ks:
            evaluation = evaluate(ranked.run, job.collection.qrels, ks=ks, measures=job.measures)
    else:
        ks = job.ks
    run, collection = ranked.run, job.collection
    blank = next((i for i in (*collection.query_ids, *collection.doc_ids) if re.search(r"\s", i)), None)
    keep_collection(folder.path.parent, collection, collection.doc_ids.take(np.unique(run.rows[run.rows >= 0])).to_pylist())
    latency = latency_columns(folder) if earlier and not job.fresh else {}
    rows = [{**_row(job, k, ranked, evaluation), **latency.get(k, {})} for k in ks]
    files = {
        "job.yaml": lambda path: path.write_text(_job_yaml(job)),
        "run.parquet": write_table(run.to_table()),
        "grid.parquet": write_table(MetricGrid.of(rows).table),
        "per_query.parquet": write_table(_per_query(job, ks, evaluation)),
    }
    if blank is None:
        files["run.trec"] = write_trec(run, tag=re.sub(r"\s", "_", job.label))
    manifest = {
        "id": job.id,
        "system": job.label,
        "system_id": job.system_id,
        "identity": job.system.identity(),
        "collection": collection.name,
        "ks": list(ks),
        "measures": [measure.name for measure in job.measures],
        "digests": digests(job),
        "schema_version": SCHEMA_VERSION,
        "facts": ranked.facts,
        "short_lists": int((run.returned < min(job.system.depth, len(collection.docs))).sum()),
        "run_trec_missing": f"the id '{blank}' holds a blank" if blank is not None else None,
        "notes": list(collection.notes),
        "overrides": list(job.overrides),
        "written": timing.now(),
        "versions": versions(),
        "machine": machine(),
    }
    folder.write(files, manifest=manifest)


def record_failure(job: Job, folder: JobFolder, error: BaseException) -> None:
    """Keep why a job failed, or that its parts do not suit each other, in its place in the grid."""
    status = "skipped" if isinstance(error, Unsuitable) else "failed"
    reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
    row = {**_identity_columns(job), "k": job.ks[0], "status": status, "reason": reason}
    folder.fail({"status": status, "reason": reason, "ks": list(job.ks), "row": row, "written": timing.now()})


def _row(job: Job, k: int, ranked: Ranked, evaluation: Evaluation) -> dict[str, Any]:
    facts, collection = ranked.facts, job.collection
    values = {}
    for measure in job.measures:
        values[measure.name] = evaluation.mean(measure.name, k)
        values[f"{measure.name}_queries"] = evaluation.counted(measure.name, k)
    judged = len(evaluation.queries)
    return {
        **_identity_columns(job, facts),
        "k": k,
        "status": "ok",
        "queries": int((evaluation.gains.total() > 0).sum()),
        "no_relevant": evaluation.no_relevant,
        "unanswered": int(evaluation.unanswered.sum()),
        "judged_queries": judged,
        "unjudged_queries": len(set(collection.query_ids) - set(evaluation.queries)),
        **values,
        "index_seconds": facts["index_seconds"],
        "index_bytes": facts["index"].get("index_bytes"),
        "peak_memory_bytes": timing.peak_memory_bytes(),
        "context_tokens": float(context_tokens(ranked.run, collection_lengths(job), k).mean()),
    }


def _identity_columns(job: Job, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    parameters = {**job.settings, "depth": job.system.depth}
    if facts is not None:
        parameters["read_back"] = facts["index"].get("parameters")
    names = digests(job)
    return {
        "name": job.name,
        "system": job.label,
        "system_id": job.system_id,
        "collection": job.collection.name,
        **job.options,
        "depth": job.system.depth,
        "seed": job.seed,
        "parameters": json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str),
        "corpus_digest": names["corpus"],
        "queries_digest": names["queries"],
        "qrels_digest": names["qrels"],
        "bench_version": version("bench"),
        "schema_version": SCHEMA_VERSION,
    }


def digests(job: Job) -> dict[str, str]:
    """What the job's collection was, by digest."""
    collection = job.collection
    return {
        "corpus": collection.corpus_digest,
        "queries": collection.queries_digest,
        "qrels": collection.qrels_digest,
    }


def collection_lengths(job: Job) -> npt.NDArray[np.int64]:
    """How many tokens (words and marks) each document has, by row."""
    return np.array([len(TOKEN.findall(doc.contents)) for doc in job.collection.docs], np.int64)


def context_tokens(run: Run, lengths: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """How many tokens the top k of each query send to the model, [q]."""
    rows = run.rows[:, :k]
    return np.asarray(np.where(rows >= 0, lengths[rows], 0).sum(axis=1))


def _per_query(job: Job, ks: Sequence[int], evaluation: Evaluation) -> pa.Table:
    queries = evaluation.queries
    count = len(queries) * len(ks)
    columns: dict[str, Any] = {
        "system_id": [job.system_id] * count,
        "collection": [job.collection.name] * count,
        "seed": [job.seed] * count,
        "query_id": list(queries) * len(ks),
        "k": np.repeat(ks, len(queries)),
    }
    for measure in job.measures:
        columns[measure.name] = np.concatenate([evaluation.values[measure.name, k] for k in ks])
    return per_query_table(columns)


def add_latency(job: Job, timings: pa.Table) -> None:
    """Store the samples of the latency pass with a finished job and put their percentiles into its grid."""
    folder = folder_of(job)
    with folder.locked():
        manifest = folder.manifest
        if manifest is None:
            return
        write_table(timings)(folder.path / "timings.parquet")
        latency = latency_columns(folder)
        grid = MetricGrid.read(folder.path / "grid.parquet")
        rows = [{**row, **latency.get(row["k"], {})} for row in grid.rows()]
        folder.write({"grid.parquet": write_table(MetricGrid.of(rows).table)}, manifest=manifest)


def latency_columns(folder: JobFolder) -> dict[int, dict[str, float]]:
    """The latency columns by k of a job that has been timed, from its timings.parquet."""
    path = folder.path / "timings.parquet"
    if not path.exists():
        return {}
    table = pq.read_table(path)
    ks = sorted(set(table["k"].to_pylist()))
    return {k: timing.percentiles(table.filter(pc.equal(table["k"], k)).drop_columns(["k"])) for k in ks}


def folder_of(job: Job) -> JobFolder:
    """Where a job is written."""
    return JobFolder(OUTPUTS / job.name / job.folder_name)


def versions() -> dict[str, str]:
    """The versions of what the figures depend on, where they are installed."""
    found = {"python": platform.python_version()}
    for package in ("bench", "numpy", "bm25s", "faiss-cpu", "torch", "transformers", "sentence-transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Where the figures were made, as far as they depend on it."""
    return {"platform": platform.platform(), "processor": platform.processor() or platform.machine(), "cores": _cores()}


def _cores() -> int:
    import os

    return os.cpu_count() or 1


def _job_yaml(job: Job) -> str:
    from omegaconf import OmegaConf

    settings = {
        "name": job.name,
        "collection": job.collection.name,
        "options": dict(job.options),
        "k": list(job.ks),
        "depth": job.system.depth,
        "seed": job.seed,
        "settings": dict(job.settings),
        "overrides": list(job.overrides),
    }
    return OmegaConf.to_yaml(OmegaConf.create(settings))
