"""Query by query: the hardest first, the rankings side by side, and where the relevant documents were that are missing.

How much is told is bounded, so that a page of it can be sent: see `Room`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.collection import Collection, Query
from bench.qrels import RELEVANT
from bench.runs import Run
from bench.statistics.evidence import Document, Hit, Missing, QueryRankings, Ranked
from bench.statistics.panel import Panel
from bench.statistics.slices import text_metadata

DEEPEST, SHALLOWEST = 20, 3
"""So many places of a ranking are told at most, and at least."""
LONGEST, SHORTEST = 1_200, 120
"""So many characters of a text are told at most, and at least."""


@dataclass(frozen=True)
class Room:
    """How much can be told of all queries together."""

    hits: int = 60_000
    characters: int = 500_000
    """Of the texts of documents."""

    def depth(self, rankings: int) -> int:
        """How many places of so many rankings."""
        return max(SHALLOWEST, min(DEEPEST, self.hits // max(1, rankings)))

    def length(self, documents: int) -> int:
        """How many characters of the text of each of so many documents."""
        return max(SHORTEST, min(LONGEST, self.characters // max(1, documents)))

    def shared(self, among: int) -> Room:
        """What each of several collections has of it."""
        return Room(self.hits // among, self.characters // among)


def hardest_first(
    panel: Panel, collection: Collection, *, measures: Sequence[str], measure: str, k: int
) -> tuple[Ranked, ...]:
    """The judged queries by their mean over systems at the measure and k; those that do not count last."""
    values = panel.values[measure, k]
    known = ~np.isnan(values)
    counted = np.asarray(known.any(axis=1))
    hardness = np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    queries = {query.id: query for query in collection.queries}
    grades = collection.qrels.by_query
    shown = {cell: matrix.tolist() for cell, matrix in panel.values.items() if cell[0] in measures}
    found = []
    for i, query in enumerate(panel.queries):
        about = queries.get(query) or Query(id=query, text="")  # judged, and not in the collection
        found.append(
            Ranked(
                query_id=query,
                text=about.text,
                need=about.need,
                metadata=text_metadata(about.metadata),
                hardness=float(hardness[i]) if counted[i] else None,
                relevant=sum(grade >= RELEVANT for grade in grades.get(query, {}).values()),
                values=_values(panel.systems, shown, i),
            )
        )
    return tuple(sorted(found, key=lambda one: (one.hardness is None, one.hardness or 0.0, one.query_id)))


def query_rankings(
    runs: Mapping[str, Run], collection: Collection, queries: Sequence[str], *, depth: int, k: int
) -> dict[str, QueryRankings]:
    """For each of the queries the rankings to a depth, and each relevant document that some system lacks in its top k.

    The runs are over all queries and the documents of the collection.
    """
    line_of = {query: line for line, query in enumerate(collection.query_ids)}
    grades = collection.qrels.by_query
    lists = {system: _Lists.of(run.top(depth)) for system, run in runs.items()}
    missing = _missing(runs, collection, k=k)
    names = list(collection.doc_ids)
    return {
        query: QueryRankings(
            lists={
                system: tuple(one.hits(line_of[query], names, grades.get(query, {})))
                for system, one in lists.items()
                if query in line_of
            },
            missing=missing.get(query, ()),
        )
        for query in queries
    }


def documents(
    rankings: Mapping[str, QueryRankings], collection: Collection, *, room: Room
) -> dict[str, Document]:
    """Every document that the rankings name and the collection has, by id; long texts cut."""
    named = {hit.doc_id for ranking in rankings.values() for hits in ranking.lists.values() for hit in hits}
    named |= {one.doc_id for ranking in rankings.values() for one in ranking.missing}
    kept = [doc for doc in reversed(collection.docs) if doc.id in named]
    length = room.length(len(kept))
    return {
        doc.id: Document(
            doc_id=doc.id,
            title=doc.title[:length],
            text=doc.text[:length],
            cut=len(doc.text) > length or len(doc.title) > length,
            metadata={name: value[:length] for name, value in text_metadata(doc.metadata).items()},
        )
        for doc in kept
    }


@dataclass(frozen=True)
class _Lists:
    """A run as lists, for reading it place by place."""

    rows: list[list[int]]
    scores: list[list[float]]
    stages: dict[str, tuple[list[list[int]], list[list[float]]]]

    @classmethod
    def of(cls, run: Run) -> _Lists:
        stages = {name: (stage.ranks.tolist(), stage.scores.tolist()) for name, stage in run.stages.items()}
        return cls(run.rows.tolist(), run.scores.tolist(), stages)

    def hits(self, line: int, names: Sequence[str], grades: Mapping[str, float]) -> Iterator[Hit]:
        for place, row in enumerate(self.rows[line]):
            if row < 0:
                return
            yield Hit(
                doc_id=names[row],
                rank=place + 1,
                score=self.scores[line][place],
                stages={
                    name: (ranks[line][place] or None, scores[line][place] if ranks[line][place] else None)
                    for name, (ranks, scores) in self.stages.items()
                },
                grade=grades.get(names[row]),
            )


def _missing(runs: Mapping[str, Run], collection: Collection, *, k: int) -> dict[str, tuple[Missing, ...]]:
    """By query, the best grades first."""
    qrels, lines = collection.qrels, {query: i for i, query in enumerate(collection.query_ids)}
    wanted = [
        (query, doc, float(grade))
        for query, doc, grade in zip(qrels.query_ids, qrels.doc_ids, qrels.grades.tolist(), strict=True)
        if grade >= RELEVANT and query in lines
    ]
    if not wanted:
        return {}
    of_query = np.array([lines[query] for query, _, _ in wanted])
    rows = np.asarray(collection.doc_ids.rows([doc for _, doc, _ in wanted]))
    ranks = {system: _ranks(run, of_query, rows) for system, run in runs.items()}
    found: dict[str, list[Missing]] = {}
    for i, (query, doc, grade) in enumerate(wanted):
        placed = {system: int(of[i]) or None for system, of in ranks.items()}
        if any(rank is None or rank > k for rank in placed.values()):
            found.setdefault(query, []).append(Missing(doc_id=doc, grade=grade, ranks=placed))
    return {query: tuple(sorted(of, key=lambda one: (-one.grade, one.doc_id))) for query, of in found.items()}


def _ranks(run: Run, of_query: npt.NDArray[np.int64], rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The rank of each document for its query, 0 where the run does not have it."""
    if not run.depth:
        return np.zeros(len(rows), np.int64)
    here = (run.rows[of_query] == rows[:, np.newaxis]) & (rows[:, np.newaxis] >= 0)
    return np.asarray(np.where(here.any(axis=1), here.argmax(axis=1) + 1, 0), np.int64)


def _values(
    systems: Sequence[str], shown: Mapping[tuple[str, int], list[list[Any]]], query: int
) -> dict[tuple[str, int], dict[str, float]]:
    """By (system, k), what one query has; NaN is left out."""
    values: dict[tuple[str, int], dict[str, float]] = {}
    for (name, k), matrix in shown.items():
        for system, value in zip(systems, matrix[query], strict=True):
            if value == value:
                values.setdefault((system, k), {})[name] = value
    return values
