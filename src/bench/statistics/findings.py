"""The facts of a report, as plain values: what a page, a paper's table and a plot are made from, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.statistics.answer import Answer
from bench.statistics.change import Change
from bench.statistics.evidence import Document, Hit, Missing, QueryRankings, Ranked
from bench.statistics.figures import (
    ACROSS_K,
    FAILED,
    LATENCY,
    NEXT_K,
    NOTHING,
    OK,
    RERANKER,
    SKIPPED,
    TOKENS,
    Cell,
    Curve,
    Figure,
    Front,
    Interaction,
    Point,
    Slice,
    Step,
    Within,
)
from bench.statistics.overview import Overview

__all__ = [
    "ACROSS_K", "FAILED", "LATENCY", "NEXT_K", "NOTHING", "OK", "RERANKER", "SKIPPED", "TOKENS", "Answer", "Cell",
    "Change", "Curve", "Document", "Figure", "Findings", "Front", "Hit", "Interaction", "Missing", "Overview",
    "Point", "Provenance", "QueryRankings", "Ranked", "Report", "Size", "Slice", "Step", "Within",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a folder shows of one collection."""

    collection: str
    measure: str
    """The column of the measure of the tests (`ndcg`)."""
    printed: str
    """It as printed with its k (`nDCG@5`)."""
    k: int
    """The k of the tests."""
    lenses: tuple[str, ...]
    """The measures shown first: precision, recall, mrr, ndcg."""
    measures: tuple[str, ...]
    """Every measure with a value: the lenses, complete, then the others as in the grid, judged last."""
    names: Mapping[str, str]
    """Each of them as printed without k (`R`)."""
    across_k: tuple[str, ...]
    """Those that may be compared across k; every other at one k only."""
    deciding: str
    """The column of the measure on which k is advised: complete where answers have parts, else recall."""
    ks: tuple[int, ...]
    """Rising."""
    systems: tuple[str, ...]
    """Those with a finished cell, in the order of the grid."""
    baseline: str
    cells: tuple[Cell, ...]
    """In the order of the grid, those that failed or were skipped too."""
    within: tuple[Within, ...]
    """The cells of token budgets."""
    curves: tuple[Curve, ...]
    """By measure, then system."""
    fronts: tuple[Front, ...]
    """By measure, cost and k."""
    steps: tuple[Step, ...]
    slices: tuple[Slice, ...]
    """By key, then value."""
    interactions: tuple[Interaction, ...]
    """One a key."""
    ranked: tuple[Ranked, ...]
    """The hardest first; those that do not count last."""
    rankings: Mapping[str, QueryRankings]
    """By query."""
    rankings_depth: int
    """So many places of each ranking are told, where so many are stored."""
    depths: Mapping[str, int]
    """How many candidates each system has stored for a query."""
    documents: Mapping[str, Document]
    """Those that `rankings` names and the folder has kept."""
    answer: Answer
    overview: Overview | None
    """None where no query has a value from every system."""
    significance: Mapping[str, Change]
    """Every other system at `measure` and `k` against the baseline, corrected by Holm."""
    references: Mapping[tuple[str, int], Mapping[str, float]]
    """By measure and k, the means of random, popular and oracle. They are never cells."""
    failed: tuple[tuple[str, str], ...]
    """Systems with a cell that is not ok, and `failed: why` or `skipped: why`."""
    size: Size
    notes: tuple[str, ...]

    def cell(self, system: str, k: int) -> Cell | None:
        """One cell."""
        return next((cell for cell in self.cells if (cell.system, cell.k) == (system, k)), None)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a collection is."""

    documents: int
    queries: int
    judged_queries: int
    needs: int
    """Of the judged queries."""
    judgements: int
    has_parts: bool
    """Whether answers have parts, each of which must be covered."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How the results were made: enough to make them again."""

    folder: str
    command: str | None
    """The last command that wrote the folder; None where it was not recorded."""
    configs: Mapping[str, str]
    """The job.yaml of each system, by `collection / system`."""
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    digests: Mapping[str, Mapping[str, str]]
    """Of corpus, queries and judgements, by collection."""
    started: str | None
    """When the first job was written."""
    finished: str | None
    """When the last command ended, else when the last job was written."""
    left_out: tuple[str, ...]
    """What is in no mean or in no table, and why."""
    schema_version: int
    seeds: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that is told of a folder."""

    findings: tuple[Findings, ...]
    """One a collection."""
    provenance: Provenance
    lang: str
    """`en` or `es`."""
