"""What a job leaves behind: its folder, the rows of its cells, and why it failed where it did."""

from __future__ import annotations

import glob
import json
import logging
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from omegaconf import OmegaConf

from bench import timing
from bench.artifacts import (
    OUTPUTS,
    JobFolder,
    Writer,
    keep_collection,
    state_digest,
    write_table,
    write_text,
    write_trec,
)
from bench.errors import BenchError, Unsuitable
from bench.evaluate import Evaluation, evaluate
from bench.grid import SCHEMA_VERSION, MetricGrid, counts_own, per_query_table
from bench.job import Job
from bench.metrics import MEASURES
from bench.provenance import machine, versions
from bench.runs import Run
from bench.samples import latency_columns

log = logging.getLogger(__name__)


def folder_of(job: Job) -> JobFolder:
    """Where a job is written: where it was written before, whatever it was called then."""
    named = OUTPUTS / job.name / job.folder_name
    earlier = [path for path in (OUTPUTS / job.name).glob(f"*-{job.id}") if (path / "manifest.json").exists()]
    return JobFolder(named if named in earlier or not earlier else min(earlier))


def is_done(job: Job) -> bool:
    """Whether the folder holds every cell that the job asks for, on these judgements."""
    manifest = _manifest(job)
    return (
        not job.fresh
        and manifest is not None
        and manifest["digests"] == digests(job)
        and set(job.ks) <= set(manifest["ks"])
        and {measure.name for measure in job.measures} <= set(manifest["measures"])
    )


def stored(job: Job) -> tuple[Run, Mapping[str, Any]] | None:
    """The run and facts of an earlier finish of the same job, None where they are not whole."""
    manifest = _manifest(job)
    if job.fresh or manifest is None:
        return None
    try:
        return folder_of(job).run(job.collection), manifest["facts"]
    except (pa.ArrowException, OSError, BenchError) as error:
        log.warning("%s: its stored run cannot be read and is made again (%s)", job.label, error)
        return None


def record_result(job: Job, run: Run, facts: Mapping[str, Any]) -> None:
    """Evaluate and write a job. Cells it had at other k stay, measured again where the judgements have changed."""
    folder, collection = folder_of(job), job.collection
    earlier = _manifest(job)
    ks = tuple(sorted({*job.ks, *(earlier["ks"] if earlier else ())}))
    names = dict.fromkeys(
        [*(measure.name for measure in job.measures), *(earlier["measures"] if earlier else ())]
    )
    measures = [MEASURES[name] for name in names if name in MEASURES]
    evaluation = evaluate(run, collection.qrels, ks=ks, measures=measures, max_grade=collection.max_grade)
    found = collection.doc_ids.take(np.unique(run.rows[run.rows >= 0])).to_pylist()
    keep_collection(folder.path.parent, collection, found)
    if job.fresh or earlier is None:
        folder.discard("timings.parquet")
    latency = latency_columns(folder)
    tokens = {k: float(context_tokens(run, collection.doc_tokens, k).mean()) for k in ks}
    rows = [
        {**_cell(job, k, facts, evaluation), "context_tokens": tokens[k], **latency.get(k, {})} for k in ks
    ]
    blank = next((i for i in (*collection.query_ids, *collection.doc_ids) if re.search(r"\s", i)), None)
    files: dict[str, Writer] = {
        "job.yaml": write_text(_job_yaml(job, ks)),
        "run.parquet": write_table(run.to_table()),
        "grid.parquet": write_table(MetricGrid.of(rows).table),
        "per_query.parquet": write_table(_per_query(job, ks, evaluation)),
    }
    if blank is None:
        files["run.trec"] = write_trec(run, tag=re.sub(r"\s", "_", job.label))
    folder.write(
        files,
        manifest={
            "id": job.id,
            "system": job.label,
            "system_id": job.system_id,
            "identity": job.system.identity,
            "collection": collection.name,
            "ks": list(ks),
            "measures": list(evaluation.measures),
            "digests": digests(job),
            "state": state_digest(collection),
            "schema_version": SCHEMA_VERSION,
            "facts": facts,
            "short_lists": int((run.returned < min(job.system.depth, len(collection.docs))).sum()),
            "run_trec_missing": None if blank is None else f"the id '{blank}' holds a blank",
            "notes": list(collection.notes),
            "overrides": list(job.overrides),
            "written": timing.now(),
            "versions": versions(),
            "machine": machine(),
        },
    )


def record_failure(job: Job, error: BaseException) -> None:
    """Keep why a job failed, or that its parts do not suit each other, in its place in the grid."""
    status = "skipped" if isinstance(error, Unsuitable) else "failed"
    reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
    rows = [{**_identity_columns(job, None), "k": k, "status": status, "reason": reason} for k in job.ks]
    # In a folder of its own name: the same system may have finished under another, which allowed more.
    JobFolder(OUTPUTS / job.name / job.folder_name).fail(
        {"status": status, "reason": reason, "rows": rows, "written": timing.now()}
    )


def forget_failures(job: Job) -> None:
    """Drop what was recorded under the job's label when it could not be had: it has another id now."""
    label = job.folder_name.removesuffix(job.id)
    for failure in (OUTPUTS / job.name).glob(f"{glob.escape(label)}*/failure.json"):
        if not (failure.parent / "manifest.json").exists():
            failure.unlink(missing_ok=True)


def digests(job: Job) -> dict[str, str]:
    """What the job's collection was, by digest."""
    collection = job.collection
    return {
        "corpus": collection.corpus_digest,
        "queries": collection.queries_digest,
        "qrels": collection.qrels_digest,
    }


def context_tokens(run: Run, lengths: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
    """How many tokens the top k of each query send to the model, [q]; `lengths` by row of the vocabulary."""
    rows = run.rows[:, :k]
    return np.asarray(np.where(rows >= 0, lengths[rows], 0).sum(axis=1))


def _manifest(job: Job) -> dict[str, Any] | None:
    """The manifest of an earlier finish that still holds."""
    manifest = folder_of(job).manifest
    return manifest if manifest and manifest.get("schema_version") == SCHEMA_VERSION else None


def _cell(job: Job, k: int, facts: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in evaluation.measures:
        values[name] = evaluation.mean(name, k)
        if counts_own(name):
            values[f"{name}_queries"] = evaluation.counted(name, k)
    return {
        **_identity_columns(job, facts["index"].get("parameters")),
        **values,
        "k": k,
        "status": "ok",
        "queries": int((evaluation.gains.total() > 0).sum()),
        "no_relevant": evaluation.no_relevant,
        "unanswered": int(evaluation.unanswered.sum()),
        "judged_queries": len(evaluation.queries),
        "unjudged_queries": len(set(job.collection.query_ids) - set(evaluation.queries)),
        "index_seconds": facts["index_seconds"],
        "index_bytes": facts["index"].get("index_bytes"),
        "peak_memory_bytes": timing.peak_memory_bytes(),
    }


def _identity_columns(job: Job, read_back: Any) -> dict[str, Any]:
    names = digests(job)
    parameters = {**job.settings, "depth": job.system.depth, "read_back": read_back}
    return {
        "name": job.name,
        "system": job.label,
        "system_id": job.system_id,
        "collection": job.collection.name,
        **job.options,
        "depth": job.system.depth,
        "seed": job.seed,
        "parameters": json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str),
        **{f"{what}_digest": name for what, name in names.items()},
        "bench_version": version("bench"),
        "schema_version": SCHEMA_VERSION,
    }


def _per_query(job: Job, ks: Sequence[int], evaluation: Evaluation) -> pa.Table:
    count = len(evaluation.queries) * len(ks)
    columns: dict[str, Any] = {
        "system_id": [job.system_id] * count,
        "collection": [job.collection.name] * count,
        "seed": [job.seed] * count,
        "query_id": list(evaluation.queries) * len(ks),
        "k": np.repeat(ks, len(evaluation.queries)),
    }
    for name in evaluation.measures:
        columns[name] = np.concatenate([evaluation.values[name, k] for k in ks])
    return per_query_table(columns)


def _job_yaml(job: Job, ks: Sequence[int]) -> str:
    """The job as it was configured, for a person."""
    asked = {
        "name": job.name,
        "collection": job.collection.name,
        "k": list(ks),
        "seed": job.seed,
        "depth": job.system.depth,
        **job.options,
        **job.settings,
        "overrides": list(job.overrides),
    }
    return OmegaConf.to_yaml(OmegaConf.create(asked))
