"""Tables of what stored rankings say by themselves: when a system should say nothing, and which systems are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.abstention import Flags, abstention, answerable, too_few, top_scores
from bench.budget import Counts, tokens_by_place
from bench.collection import Collection
from bench.join import aligned
from bench.runs import Run
from bench.similarity import matrix, overlap, rbo


class Kept(Protocol):
    """What a folder has kept of one collection: see `bench.kept.Kept`."""

    @property
    def collection(self) -> Collection:
        """Its queries and judgements, and the documents that a run or a judgement names."""

    @property
    def documents(self) -> int:
        """How many documents the corpus has."""

    @property
    def runs(self) -> Mapping[str, Run]:
        """The rankings of every system by its label."""

    @property
    def ranks_alone(self) -> frozenset[str]:
        """The systems whose scores are made of ranks."""

    @property
    def largest_k(self) -> int:
        """The largest k of a cell."""


def abstention_tables(kept: Mapping[str, Kept]) -> RenderableType:
    """A table a collection by name, or why there is none."""
    found: list[RenderableType] = []
    for name, one in kept.items():
        flags, needs = _asked(one.collection)
        found += [
            Text(name, style="bold"),
            Text(reason) if (reason := too_few(flags, needs)) else abstentions(one),
        ]
    return Group(*found)


def abstentions(kept: Kept) -> RenderableType:
    """For every system, how well its top score tells whether there is an answer.

    A row: AUROC and its interval; the threshold and how far it moves over folds; which share of answerable and of
    unanswerable queries would be answered; the tokens sent on an unanswerable query at the largest k, now and with
    the threshold. ValueError where the queries do not allow it (see `bench.abstention.too_few`).
    """
    flags, needs = _asked(kept.collection)
    k, qrels = kept.largest_k, kept.collection.qrels
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("abstention", overflow="fold")
    for name in ("AUROC", "95 %", "threshold", "kept", "passed", f"tokens@{k}"):
        table.add_column(name, justify="right", no_wrap=True)
    for system, run in kept.runs.items():
        if system not in kept.ranks_alone:
            found = abstention(top_scores(run, qrels), flags, needs)
            tokens, answered = _tokens(run, kept.collection, k)[~flags], found.answered[~flags]
            table.add_row(
                system,
                f"{found.auroc:.3f}",
                "-" if found.interval is None else "{:.3f} to {:.3f}".format(*found.interval),
                f"{found.threshold:.3g} ({found.thresholds[0]:.3g} to {found.thresholds[-1]:.3g})",
                f"{found.kept:.3f}",
                f"{found.passed:.3f}",
                f"{tokens.mean():.0f} > {(tokens * answered).mean():.0f}",
            )
    said = [
        f"kept: of {flags.sum()} answerable, passed: of {(~flags).sum()} unanswerable queries, by a threshold "
        "chosen on other needs"
    ]
    silent = [
        f"{system}: none, its scores are made of ranks and do not say how good the best document is"
        for system in kept.runs
        if system in kept.ranks_alone
    ]
    return Group(*map(Text, silent)) if not table.row_count else Group(table, *map(Text, said + silent))


def abstains(collection: Collection) -> bool:
    """Whether the queries of a collection allow a table of abstention."""
    return too_few(*_asked(collection)) is None


def similarity_tables(kept: Mapping[str, Kept]) -> RenderableType:
    """A table a collection by name."""
    found: list[RenderableType] = []
    for name, one in kept.items():
        found += [Text(name, style="bold"), similarities(one.runs, k=one.largest_k)]
    return Group(*found)


def similarities(runs: Mapping[str, Run], *, k: int) -> RenderableType:
    """How alike the rankings of systems are, mean over queries: Overlap@k above the diagonal, RBO below it."""
    every = list(runs.values())
    above, below = matrix(every, lambda one, other: overlap(one, other, k=k)), matrix(every, rbo)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(f"RBO \\ Overlap@{k}", overflow="fold")
    for number in range(1, len(runs) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for row, system in enumerate(runs):
        figures = np.where(np.arange(len(runs)) > row, above[row], below[row])
        cells = ["·" if column == row else f"{value:.2f}" for column, value in enumerate(figures)]
        table.add_row(f"{row + 1} {system}", *cells)
    return table


def _asked(collection: Collection) -> tuple[Flags, list[str]]:
    """Which judged queries have an answer, and the need of each."""
    need = {query.id: query.need for query in collection.queries}
    return answerable(collection.qrels), [need.get(query, query) for query in collection.qrels.judged_queries]


def _tokens(run: Run, collection: Collection, k: int) -> Counts:
    """The tokens that the top k of each judged query send, [q]."""
    tokens = aligned(tokens_by_place(run, collection.doc_tokens), run, collection.qrels, empty=0)
    return np.asarray(tokens[:, :k].sum(axis=1))
