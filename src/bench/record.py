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
from bench.budget import chunks_within, context_tokens, tokens_by_place
from bench.cells import Cells
from bench.errors import BenchError, Unsuitable
from bench.grid import SCHEMA_VERSION, MetricGrid
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
        and set(job.budgets) <= set(manifest["budgets"])
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
    budgets = tuple(sorted({*job.budgets, *(earlier["budgets"] if earlier else ())}))
    names = dict.fromkeys(
        [*(measure.name for measure in job.measures), *(earlier["measures"] if earlier else ())]
    )
    measures = [MEASURES[name] for name in names if name in MEASURES]
    cells = Cells.of(run, collection, ks=ks, budgets=budgets, measures=measures)
    found = collection.doc_ids.take(np.unique(run.rows[run.rows >= 0])).to_pylist()
    keep_collection(folder.path.parent, collection, found)
    _warn_where_all_fits(job, run)
    if job.fresh or earlier is None:
        folder.discard("timings.parquet")
    latency = latency_columns(folder)
    rows = [
        {
            **_finished_columns(job, facts),
            **cell,
            **_context(run, collection.doc_tokens, cell),
            **latency.get(cell["k"], {}),
        }
        for cell in cells.rows(collection.query_ids)
    ]
    blank = next((i for i in (*collection.query_ids, *collection.doc_ids) if re.search(r"\s", i)), None)
    files: dict[str, Writer] = {
        "job.yaml": write_text(_job_yaml(job, ks, budgets)),
        "run.parquet": write_table(run.to_table()),
        "grid.parquet": write_table(MetricGrid.of(rows).table),
        "per_query.parquet": write_table(cells.per_query(rows[0])),
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
            "documents": len(collection.docs),
            "ks": list(ks),
            "budgets": list(budgets),
            "measures": list(cells.at.measures),
            "digests": digests(job),
            "state": state_digest(collection),
            "max_grade": collection.max_grade,
            "schema_version": SCHEMA_VERSION,
            "facts": facts,
            "scores_are_ranks": job.system.scores_are_ranks,
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
    identity = {**_identity_columns(job, None), "status": status, "reason": reason}
    cuts = [*({"k": k, "budget": None} for k in job.ks), *({"k": None, "budget": b} for b in job.budgets)]
    rows = [{**identity, **cut} for cut in cuts]
    # In a folder of its own name: the same system may have finished under another, which allowed more.
    JobFolder(OUTPUTS / job.name / job.folder_name).fail(
        {"status": status, "reason": reason, "rows": rows, "written": timing.now()}
    )


def forget_failures(job: Job) -> None:
    """Drop what was recorded under the label, on the collection, when it could not be had: it has another id now."""
    label = job.folder_name.removesuffix(job.id)
    for path in (OUTPUTS / job.name).glob(f"{glob.escape(label)}*/failure.json"):
        folder = JobFolder(path.parent)
        rows = (folder.failure or {"rows": []})["rows"]
        if not folder.manifest and all(row["collection"] == job.collection.name for row in rows):
            folder.discard("failure.json")


def digests(job: Job) -> dict[str, str]:
    """What the job's collection was, by digest."""
    return job.collection.digests


def _manifest(job: Job) -> dict[str, Any] | None:
    """The manifest of an earlier finish that still holds."""
    manifest = folder_of(job).manifest
    return manifest if manifest and manifest.get("schema_version") == SCHEMA_VERSION else None


def _context(run: Run, lengths: npt.NDArray[np.int64], cell: Mapping[str, Any]) -> dict[str, float]:
    """What a cell hands to the model, over all queries."""
    if cell["k"] is None:
        chunks = chunks_within(tokens_by_place(run, lengths), run.returned, budget=cell["budget"])
    else:
        chunks = np.minimum(run.returned, cell["k"])
    tokens = context_tokens(run, lengths, chunks)
    return {"context_tokens": float(tokens.mean()), "context_chunks": float(chunks.mean())}


def _warn_where_all_fits(job: Job, run: Run) -> None:
    """Say where a budget has room for every candidate that was stored: then it says less than it could."""
    docs, depth = job.collection.docs, job.system.depth
    tokens = tokens_by_place(run, job.collection.doc_tokens).sum(axis=1)
    for budget in job.budgets if depth < len(docs) else ():
        if filled := int(((run.returned == depth) & (tokens <= budget)).sum()):
            log.warning(
                "%s: budget=%d has room for all depth=%d candidates of %d queries; with a larger depth it would "
                "hand over more",
                *(job.label, budget, depth, filled),
            )


def _finished_columns(job: Job, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_identity_columns(job, facts["index"].get("parameters")),
        "status": "ok",
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


def _job_yaml(job: Job, ks: Sequence[int], budgets: Sequence[int]) -> str:
    """The job as it was configured, for a person."""
    asked = {
        "name": job.name,
        "collection": job.collection.name,
        "k": list(ks),
        "budget": list(budgets),
        "seed": job.seed,
        "depth": job.system.depth,
        **job.options,
        **job.settings,
        "overrides": list(job.overrides),
    }
    return OmegaConf.to_yaml(OmegaConf.create(asked))
