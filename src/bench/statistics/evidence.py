"""What stands behind the figures, query by query: the values of each system, its ranking, and what it left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A query, with what each system has on it."""

    query_id: str
    text: str
    """May be empty."""
    need: str
    metadata: Mapping[str, str]
    """All of it but the need, as text."""
    hardness: float | None
    """The mean over systems of the report's measure at its k; None where the query does not count."""
    relevant: int
    """How many documents are judged relevant."""
    values: Mapping[tuple[str, int], Mapping[str, float]]
    """By (system, k) and measure: the four lenses and Complete, those that the query has."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A document in a ranking."""

    doc_id: str
    rank: int
    score: float
    stages: Mapping[str, tuple[int | None, float | None]]
    """Rank and score in each stage that was stored; None where the stage did not have it."""
    grade: float | None
    """None where it is not judged."""


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A relevant document that some system does not have in its top k."""

    doc_id: str
    grade: float
    ranks: Mapping[str, int | None]
    """By system; None where it is not within the stored depth (`Findings.depths`)."""


@dataclass(frozen=True, kw_only=True)
class QueryRankings:
    """What every system found for one query, to `Findings.rankings_depth`, and what some left out."""

    lists: Mapping[str, tuple[Hit, ...]]
    missing: tuple[Missing, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document that stands in one of the rankings told."""

    doc_id: str
    title: str
    text: str
    cut: bool
    """Whether the text goes on."""
    metadata: Mapping[str, str] = field(default_factory=dict)
