"""What a folder of results has kept of one collection: queries, judgements, documents, and the runs of its systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from bench.artifacts import JobFolder, kept_collection
from bench.collection import Collection
from bench.errors import BenchError
from bench.runs import Run


@dataclass(frozen=True, eq=False)
class Kept:
    """The finished jobs of some cells of one collection, by the label of their system."""

    folder: Path
    jobs: Mapping[str, tuple[JobFolder, Mapping[str, Any]]]
    largest_k: int

    @classmethod
    def of(cls, folder: Path, cells: pd.DataFrame) -> Kept:
        """Of rows of the grid of a folder, all of one collection."""
        columns = ("system_id", "collection", "corpus_digest", "queries_digest", "qrels_digest")
        wanted = set(zip(*(cells[name] for name in columns), strict=True))
        jobs = {}
        for path in sorted(folder.glob("*/manifest.json")):
            job = JobFolder(path.parent)
            manifest = job.manifest
            if manifest and _named(manifest) in wanted:
                jobs[str(manifest["system"])] = (job, manifest)
        return cls(folder, dict(sorted(jobs.items())), int(cells["k"].max()))

    @cached_property
    def collection(self) -> Collection:
        """The collection as the jobs had it, with those of its documents that a run or a judgement names."""
        _, manifest = next(iter(self.jobs.values()))
        return kept_collection(self.folder, manifest)

    @property
    def documents(self) -> int:
        """How many documents the corpus has, kept or not."""
        return max(int(manifest["documents"]) for _, manifest in self.jobs.values())

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The rankings of every system by its label, over the kept documents and all queries."""
        return {system: self._run(job) for system, (job, _) in self.jobs.items()}

    @property
    def ranks_alone(self) -> frozenset[str]:
        """The systems whose scores are made of ranks, and say nothing beyond the order of a query's documents."""
        return frozenset(system for system, (_, one) in self.jobs.items() if one["scores_are_ranks"])

    def _run(self, job: JobFolder) -> Run:
        try:
            return job.run(self.collection)
        except (pa.ArrowException, OSError) as error:
            raise BenchError(
                f"{job.path / 'run.parquet'} cannot be read ({str(error).splitlines()[0]}); delete its folder and "
                "run the command again"
            ) from error


def _named(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    digests = manifest["digests"]
    return (
        manifest["system_id"],
        manifest["collection"],
        *(digests[o] for o in ("corpus", "queries", "qrels")),
    )
