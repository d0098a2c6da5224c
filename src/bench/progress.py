"""What is going on, on standard error: one bar with what is left, and nothing where there is no terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bench.artifacts import JobFolder

EVERY = 0.25
"""Seconds between two looks at the folders."""


@contextmanager
def watching(folders: Mapping[str, JobFolder]) -> Iterator[None]:
    """A bar that fills as jobs write their result or failure, in whatever process they run."""
    before = {label: folder.stamp for label, folder in folders.items()}
    finished = threading.Event()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(), transient=True) as bar:
        task = bar.add_task("jobs", total=len(folders))

        def look() -> None:
            while not finished.wait(EVERY):
                waiting = [label for label, folder in folders.items() if folder.stamp == before[label]]
                bar.update(
                    task, completed=len(folders) - len(waiting), description=waiting[0] if waiting else "jobs"
                )

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


@contextmanager
def spinning(what: str) -> Iterator[None]:
    """Say what is going on while it lasts."""
    with Progress(
        SpinnerColumn(), TextColumn(what), TimeElapsedColumn(), console=_console(), transient=True
    ) as bar:
        bar.add_task(what, total=None)
        yield


Tell = Callable[[str, int, int, str], None]
"""Hears a stage, how many of how many steps of it are done, and what more there is to say."""


@contextmanager
def telling() -> Iterator[Tell]:
    """One bar that is told how far a long work is; without a terminal, a line at every tenth of a stage."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[more]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(), transient=True) as bar:
        task = bar.add_task("", total=None, more="")
        stage = ""

        def tell(name: str, done: int, of: int, more: str) -> None:
            nonlocal stage
            if name != stage:
                bar.reset(task, description=name, total=of, more=more)
                stage = name
            bar.update(task, completed=done, total=of, more=more)

        yield tell


def _lines() -> Tell:
    told: dict[str, int] = {}

    def tell(name: str, done: int, of: int, more: str) -> None:
        tenth = 10 * done // max(1, of)
        if told.get(name) != tenth or ", " in more:
            told[name] = tenth
            print(f"{name} {done}/{of} {more}".rstrip(), file=sys.stderr, flush=True)

    return tell


def _console() -> Console:
    return Console(stderr=True, quiet=not sys.stderr.isatty())
