"""A whole command: plan its jobs, check all parts first, let a launcher run them, time them, rebuild the tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from bench import timing
from bench.artifacts import OUTPUTS, JobFolder, keep_collection, write_json
from bench.errors import BenchError
from bench.job import Job, job_of, made
from bench.latency import is_timed, time_systems
from bench.loading import Collections
from bench.merge import merge
from bench.pipeline import run_job
from bench.progress import watching
from bench.qrels import RELEVANT
from bench.record import digests, folder_of, forget_failures, is_done, record_failure
from bench.tracking import Nowhere, Tracker, refuse_several


@dataclass
class Planned:
    """A job of the sweep, what composes it again, and why it cannot run, where it cannot."""

    job: Job
    overrides: tuple[str, ...]
    refused: BenchError | None = None

    @property
    def folder(self) -> JobFolder:
        """Where the job is written."""
        return folder_of(self.job)


@dataclass
class Sweep:
    """The jobs of one command; equal ones are one, at all the k they ask for."""

    planned: list[Planned]
    earlier: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    warnings: tuple[str, ...] = ()
    dry: str | None = None
    form: str = "table"
    """In which the result is told."""
    tracker: Tracker = field(default_factory=Nowhere)

    @property
    def notes(self) -> tuple[str, ...]:
        """What loading the collections found worth saying."""
        found = (f"{p.job.collection.name}: {n}" for p in self.planned for n in p.job.collection.notes)
        beyond = (
            f"{p.job.collection.name}: k={max(p.job.ks)} is more than its {len(p.job.collection.docs)} documents"
            for p in self.planned
            if max(p.job.ks) > len(p.job.collection.docs)
        )
        barren = (
            f"{p.job.collection.name}: no query has a relevant document, so there is nothing to measure"
            for p in self.planned
            if len(grades := p.job.collection.qrels.grades) and not (grades >= RELEVANT).any()
        )
        return tuple(dict.fromkeys([*found, *barren, *beyond, *self.warnings]))

    @classmethod
    def plan(cls, composed: Sequence[tuple[Sequence[str], DictConfig]]) -> Sweep:
        """Make and check every job; BenchError where the request is wrong or nothing of it can run."""
        load = Collections()
        planned: dict[str, Planned] = {}
        jobs = [job_of(cfg, load=load) for _, cfg in composed]
        _refuse_mixture(jobs)
        for job, (overrides, _) in zip(jobs, composed, strict=True):
            refused = _refusal(job)
            # Equal systems may be asked for by other names, of which one allows less (see retriever=faiss).
            key = f"{job.id} {job.label}" if refused else job.id
            if twin := planned.get(key):
                job = _both(twin.job, job)
            others = [word for word in overrides if not word.startswith(("k=", "budget="))]
            cuts = [f"k={_listed(job.ks)}", f"budget={_listed(job.budgets)}"]
            planned[key] = Planned(job, (*others, *cuts), refused)
        tracker = refuse_several([made(cfg, "tracking") for _, cfg in composed])
        tracker.check()
        sweep = cls(list(planned.values()), form=str(composed[0][1].format), tracker=tracker)
        if all(one.refused for one in sweep.planned):
            reasons = dict.fromkeys(f"{one.job.label}: {one.refused}" for one in sweep.planned)
            raise BenchError(
                "nothing can run:\n  " + "\n  ".join(reasons) if len(reasons) > 1 else next(iter(reasons))
            )
        return sweep

    @property
    def folder(self) -> Path:
        """The folder of the sweep."""
        return OUTPUTS / self.planned[0].job.name

    def prepare(self) -> None:
        """Record the jobs that cannot run."""
        for one in self.planned:
            if one.refused:
                with one.folder.locked():
                    record_failure(one.job, one.refused)

    def todo(self) -> list[Planned]:
        """Jobs that can run and have not been done."""
        return [one for one in self.planned if not one.refused and not is_done(one.job)]

    def waiting(self) -> list[tuple[str, ...]]:
        """The overrides of the jobs to run, for a launcher."""
        todo = self.todo()
        self.earlier = {one.job.folder_name: one.folder.stamp for one in todo}
        return [one.overrides for one in todo]

    @contextmanager
    def progress(self) -> Iterator[None]:
        """One bar for all the jobs that run, wherever they run: it watches for their results."""
        folders = {
            f"{one.job.label} on {one.job.collection.name}": one.folder
            for one in self.planned
            if one.job.folder_name in self.earlier
        }
        with watching(folders):
            yield

    def run_here(self) -> None:
        """Run what is to do in this process, one job after the other."""
        for one in self.todo():
            run_job(one.job)

    def returned(self, results: Sequence[Any]) -> None:
        """Record what a launcher could not bring to an end (a job records its own failures)."""
        started = [one for one in self.planned if one.job.folder_name in self.earlier]
        for one, result in zip(started, results, strict=True):
            if one.folder.stamp == self.earlier[one.job.folder_name]:
                error = getattr(result, "_return_value", result)
                gone = (
                    error
                    if isinstance(error, BaseException)
                    else BenchError("its process ended without a result")
                )
                with one.folder.locked():
                    record_failure(one.job, gone)

    def finish(self) -> None:
        """Rebuild the tables, time what has not been timed, and record what this command asked."""
        for one in self.planned:
            if not one.refused and is_done(one.job):
                forget_failures(one.job)
        state = {one.job.collection.name: digests(one.job) for one in self.planned}
        for collection in {id(one.job.collection): one.job.collection for one in self.planned}.values():
            keep_collection(self.folder, collection, docs=())
        merge(self.folder, state=state)
        untimed = time_systems([one.job for one in self.planned if not one.refused])
        merged = merge(self.folder, state=state)
        self.left_out, self.warnings = merged.left_out, (*untimed, *merged.damaged)
        jobs = [
            {
                "system_id": p.job.system_id,
                "folder": p.job.folder_name,
                "ks": p.job.ks,
                "budgets": p.job.budgets,
            }
            for p in self.planned
        ]
        record = {"command": sys.argv[1:], "finished": timing.now(), "left_out": self.left_out, "jobs": jobs}
        JobFolder(self.folder).put("command.json", write_json(record))
        outcome.set(self)

    def dry_run(self) -> None:
        """Say what would be done."""
        todo = {one.job.folder_name for one in self.todo()}
        cells = sum(len(p.job.ks) + len(p.job.budgets) for p in self.planned)
        lines = [f"jobs: {len(self.planned)}, cells: {cells}, into {self.folder}"]
        for one in self.planned:
            state = (
                str(one.refused)
                if one.refused
                else "to do"
                if one.job.folder_name in todo
                else "done already"
            )
            budgets = f", budget={list(one.job.budgets)}" if one.job.budgets else ""
            lines.append(
                f"  {one.job.label} on {one.job.collection.name}, k={list(one.job.ks)}{budgets}: {state}"
            )
        timed = [one.job for one in self.planned if not one.refused and not is_timed(one.job)]
        seconds = sum(job.timing.seconds for job in timed if job.timing.enabled)
        lines.append(
            f"the latency pass takes about {seconds / 60:.1f} minutes, more where a call is slow"
            if seconds
            else "nothing is left to time"
        )
        self.dry = "\n".join(lines)
        outcome.set(self)


def _both(one: Job, other: Job) -> Job:
    """Two equal jobs as one, at all that either asks for."""
    return replace(
        other,
        ks=tuple(sorted({*one.ks, *other.ks})),
        budgets=tuple(sorted({*one.budgets, *other.budgets})),
        measures=tuple(dict.fromkeys([*one.measures, *other.measures])),
    )


def _listed(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _refusal(job: Job) -> BenchError | None:
    """Why the job cannot run, None where it can."""
    try:
        job.system.check(len(job.collection.docs))
    except BenchError as error:
        return error
    except Exception as error:  # a part of somebody's own: the other jobs can run
        return BenchError(f"{type(error).__name__}: {error}")
    return None


def _refuse_mixture(jobs: Sequence[Job]) -> None:
    """BenchError where jobs do not belong in one table: two folders, or two states of one collection."""
    names = dict.fromkeys(job.name for job in jobs)
    if len(names) > 1:
        raise BenchError(f"name={','.join(names)}: a command writes one folder; run one command for each")
    states: dict[str, dict[str, str]] = {}
    for job in jobs:
        if states.setdefault(job.collection.name, digests(job)) != digests(job):
            raise BenchError(
                f"two states of the collection {job.collection.name} in one table could not be compared: "
                "give each a collection.name of its own, or run them under different names (name=…)"
            )


outcome: ContextVar[Sweep | None] = ContextVar("outcome", default=None)
"""The last sweep of this process: Hydra gives nothing back from one, so it is left here."""
