"""The facts that the scripts read: the figures behind each mark of a chart, and the rankings of every query.

A sweep has tens of thousands of places in rankings, and a page is to stay small: so lists are flat, documents, systems
and stages stand as numbers, and values as whole thousandths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report.words import Words
from bench.statistics.findings import Cell, Findings, Hit, QueryRankings

DEPTHS = (20, 15, 10, 7, 5, 3)
LETTERS = (1200, 800, 500, 300, 160)
"""What is tried in turn until the page is small enough: how deep rankings go, how many letters of a text."""


@dataclass(frozen=True)
class Payload:
    """The facts of one collection, and what is to be said of them."""

    facts: Mapping[str, Any]
    note: str


@dataclass(frozen=True)
class _Room:
    """How much is told of each query."""

    depth: int
    letters: int
    stages: bool = True
    """Whether the scores of stages are told."""
    lenses: bool = True
    """Whether all lenses are told of each query, or the measure of the tests alone."""


def payloads(
    findings: Sequence[Findings], *, sides: Sequence[tuple[str, str]], room: int, words: Words
) -> list[Payload]:
    """The facts of each collection, with rankings as deep and texts as long as so many bytes in all allow.

    Never less deep than the k of the collection. `sides` are the two systems that are open at first.
    """
    made: list[Payload] = []
    for tried in _tries(max((one.rankings_depth for one in findings), default=0)):
        made = [
            _payload(facts, left=left, right=right, room=tried, words=words)
            for facts, (left, right) in zip(findings, sides, strict=True)
        ]
        if sum(_size(one) for one in made) <= room:
            break
    return made


def _tries(deepest: int) -> Iterator[_Room]:
    """Texts and depth are given up in turn, then the scores of stages and all measures of a query but one."""
    depths = [deepest, *(depth for depth in DEPTHS if depth < deepest)]
    letters = list(LETTERS)
    yield _Room(depths[0], letters[0])
    while len(depths) > 1 or len(letters) > 1:
        for given_up in (letters, depths):
            if len(given_up) > 1:
                given_up.pop(0)
                yield _Room(depths[0], letters[0])
    yield _Room(depths[0], letters[0], stages=False)
    yield _Room(depths[0], letters[0], stages=False, lenses=False)


def _size(payload: Payload) -> int:
    return len(json.dumps(payload.facts, ensure_ascii=False, separators=(",", ":")).encode())


def _payload(facts: Findings, *, left: str, right: str, room: _Room, words: Words) -> Payload:
    number = {system: i for i, system in enumerate(facts.systems)}
    depth = min(max(room.depth, facts.k), facts.rankings_depth)
    wanted = (*facts.lenses, "complete") if room.lenses else (facts.measure,)
    told = [name for name in wanted if name in facts.measures]
    rankings = _Rankings(number, depth, room.stages)
    queries = []
    for query in facts.ranked:
        values = [
            [_thousandths(query.values.get((system, facts.k), {}).get(name)) for name in told]
            for system in facts.systems
        ]
        queries.append(
            {
                "id": query.query_id,
                "text": query.text,
                "about": [f"{name}: {value}" for name, value in query.metadata.items() if value],
                "relevant": query.relevant,
                "values": values,
                **rankings.of(facts.rankings.get(query.query_id)),
            }
        )
    cut = room.letters < LETTERS[0] or depth < facts.rankings_depth
    note = words("depth_less" if cut else "depth_note", depth=depth, letters=room.letters)
    return Payload(
        {
            "systems": facts.systems,
            "k": facts.k,
            "depth": depth,
            "depths": [facts.depths.get(system) for system in facts.systems],
            "shown": [words.measure(name, facts.k) for name in told],
            "lead": told.index(facts.measure) if facts.measure in told else 0,
            "left": number[left],
            "right": number[right],
            "cells": [
                [number.get(cell.system), cell.k, [*_told(cell, facts, words)]] for cell in facts.cells
            ],
            "stages": list(rankings.stages),
            "queries": queries,
            "documents": [_document(facts, doc, room.letters) for doc in rankings.docs],
        },
        note,
    )


@dataclass
class _Rankings:
    """Rankings as flat lists; counts documents and stages as they come."""

    systems: Mapping[str, int]
    depth: int
    with_stages: bool
    docs: dict[str, int] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)

    def of(self, found: QueryRankings | None) -> dict[str, Any]:
        """The rankings of one query and what some system left out; nothing where there are none.

        `docs` are its documents, each with its grade; `lists` has for each system the place of a document in `docs`
        and its score in turn; `staged` the ranks and scores of its stages in turn.
        """
        if found is None:
            return {}
        here: dict[str, float | int | None] = {one.doc_id: _rounded(one.grade) for one in found.missing}
        lists: list[list[Any]] = [[] for _ in self.systems]
        staged: dict[int, dict[int, list[Any]]] = {}
        for system, hits in found.lists.items():
            for hit in hits[: self.depth]:
                here.setdefault(hit.doc_id, _rounded(hit.grade))
            place = {doc: i for i, doc in enumerate(here)}
            at = self.systems[system]
            lists[at] = [
                one for hit in hits[: self.depth] for one in (place[hit.doc_id], _rounded(hit.score))
            ]
            if self.with_stages and (stages := self._stages(hits[: self.depth])):
                staged[at] = stages
        place = {doc: i for i, doc in enumerate(here)}
        missing = [
            [
                place[one.doc_id],
                {self.systems[name]: rank for name, rank in one.ranks.items() if rank is not None},
            ]
            for one in found.missing
        ]
        docs = [[self.docs.setdefault(doc, len(self.docs)), grade] for doc, grade in here.items()]
        return {"docs": docs, "lists": lists, "staged": staged, "missing": missing}

    def _stages(self, hits: Sequence[Hit]) -> dict[int, list[Any]]:
        """By stage, rank and score of each hit in turn; stages that say what the ranking itself says are left away."""
        names = dict.fromkeys(name for hit in hits for name in hit.stages)
        found = {}
        for name in names:
            ranked = [hit.stages.get(name, (None, None)) for hit in hits]
            if ranked == [(hit.rank, hit.score) for hit in hits]:
                continue
            number = self.stages.setdefault(name, len(self.stages))
            found[number] = [one for rank, score in ranked for one in (rank or 0, _rounded(score))]
        return found


def _document(facts: Findings, doc_id: str, letters: int) -> list[Any]:
    """Id, title, text and whether the text goes on."""
    document = facts.documents.get(doc_id)
    if document is None:
        return [doc_id, "", "", 0]
    return [
        doc_id,
        document.title,
        document.text[:letters],
        int(document.cut or len(document.text) > letters),
    ]


def _told(cell: Cell, facts: Findings, words: Words) -> Iterator[tuple[str, str]]:
    """All figures of a cell, as they are printed."""
    for name in (*facts.lenses, "complete", "judged"):
        if name in cell.values:
            yield words.measure(name, cell.k), words.figure(cell.values[name])
    if cell.latency is not None and cell.latency.mean is not None:
        told = words.ms(cell.latency.mean)
        if cell.latency.lo is not None and cell.latency.hi is not None:
            told += f" ({words.ms(cell.latency.lo)}–{words.ms(cell.latency.hi)})"
        yield words("p50"), told
    if cell.latency_p95 is not None:
        yield words("p95"), words.ms(cell.latency_p95)
    if cell.context_tokens is not None:
        yield words("tokens_column"), words.count(cell.context_tokens)


def _thousandths(value: float | None) -> int | None:
    return None if value is None or value != value else round(1000 * value)


def _rounded(value: float | None) -> float | int | None:
    """To four significant digits; None where there is none."""
    if value is None or value != value:
        return None
    short = float(f"{value:.4g}")
    return int(short) if short == int(short) else short
