"""Rankings from anywhere, scored: files and job folders read, and every problem of them told at once."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.artifacts import JobFolder
from bench.errors import BenchError, did_you_mean
from bench.merge import finished
from bench.qrels import Qrels
from bench.reading import read_qrels, read_run
from bench.runs import Run
from bench.scores import Scores, score
from bench.verbs.evaluate_request import Request

if TYPE_CHECKING:
    from bench.api import Results


@dataclasses.dataclass(frozen=True, eq=False)
class Judged:
    """Judgements, the top of their scale where it is declared, and what was found in reading them."""

    qrels: Qrels
    max_grade: float | None
    notes: tuple[str, ...]
    needs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The need of each query, where a collection says it."""


def scored(request: Request) -> Scores:
    """The scores of every run that is asked for; BenchError tells what is wrong with all of their files."""
    problems: list[str] = []
    notes: list[str] = []
    runs: dict[str, Run] = {}
    judged = None
    try:
        judged = judgements(request.qrels, request.collection)
    except BenchError as error:
        problems.append(str(error))
    named = _named(request.runs)
    problems += _twice([path for _, path in named])
    for name, path in named:
        try:
            refuse_missing(path)
            read = read_run(path, duplicates=request.duplicates)
        except BenchError as error:
            problems.append(str(error))
            continue
        runs[name] = read.run
        notes += [f"{name}: {note}" for note in read.notes]
    if judged is None or problems:
        raise BenchError("\n".join(problems))
    rules = request.rules
    if rules.max_grade is None:
        rules = dataclasses.replace(rules, max_grade=judged.max_grade)
    found = score(runs, judged.qrels, rules=rules, needs=judged.needs)
    return dataclasses.replace(found, notes=(*judged.notes, *notes, *found.notes))


def rescored(request: Request) -> Results:
    """The stored runs of a folder, scored again in place, on the judgements of a file or those of now."""
    from bench.verbs.rescore import rescore

    if request.folder is None:
        raise ValueError("no folder is asked for")
    qrels, notes = None, tuple[str, ...]()
    if request.qrels is not None:
        refuse_missing(request.qrels)
        read = read_qrels(request.qrels)
        qrels, notes = read.qrels, tuple(f"{request.qrels}: {note}" for note in read.notes)
    found = rescore(request.folder, qrels=qrels, max_grade=request.rules.max_grade)
    return dataclasses.replace(found, notes=(*notes, *found.notes))


def judgements(path: Path | None, collection: str | None) -> Judged:
    """The judgements of a file, those of a collection (by name or folder), or those of a file about a collection.

    Of a file about a collection the notes tell which of its queries and documents the collection does not have.
    """
    if path is not None:
        refuse_missing(path)
    read = None if path is None else read_qrels(path)
    of_file = () if read is None else tuple(f"{path}: {note}" for note in read.notes)
    if collection is None and read is not None:
        return Judged(read.qrels, None, of_file)
    from bench.reopen import rejudged
    from bench.verbs.data import loaded

    known = loaded(str(collection))
    needs = {query.id: query.need for query in known.queries}
    if read is None:
        return Judged(known.qrels, known.max_grade, known.notes, needs)
    fitted = rejudged(known, read.qrels)
    notes = (*of_file, *(f"{known.name}: {note}" for note in fitted.notes))
    return Judged(fitted.qrels, known.max_grade, notes, needs)


def refuse_missing(path: Path) -> None:
    """BenchError where there is no such file, with the nearest name of one beside it."""
    if path.is_dir():
        raise BenchError(f"{path} is a folder; name a file in it")
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise BenchError(f"there is no file {path}{did_you_mean(path.name, beside)}")


def _named(paths: Sequence[Path]) -> list[tuple[str, Path]]:
    """What is to be read, and a short name of its own: of a job its label, of a file its name."""
    found: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir():
            found += _jobs(path)
        else:
            found.append((path.name, path))
    count = Counter(name for name, _ in found)
    return [(name if count[name] == 1 else str(path), path) for name, path in found]


def _twice(paths: Sequence[Path]) -> list[str]:
    """What is wrong where a file is named again, under whatever name."""
    count = Counter(path.resolve() for path in paths)
    return [f"--run {path} is given {times} times" for path, times in count.items() if times > 1]


def _jobs(folder: Path) -> list[tuple[str, Path]]:
    """The stored run of a job's folder, or those of all jobs of a folder, by label."""
    manifest = JobFolder(folder).manifest
    jobs = [(JobFolder(folder), manifest)] if manifest else finished(folder)
    return [(str(manifest["system"]), job.path / "run.parquet") for job, manifest in jobs]
