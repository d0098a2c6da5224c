"""Questions parted so that what one part is judged on, no other part has taught: neither question nor answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.collection import Collection
from bench.errors import BenchError
from bench.qrels import RELEVANT


@dataclass(frozen=True)
class HeldOut:
    """Questions held out, and what may be learned from while they are.

    No question in `learned` has a need that is held out, or the words of a question that is, and no document
    outside `seen` may be shown: those have the text of one that is relevant to a held-out question.
    """

    queries: tuple[str, ...]
    learned: tuple[str, ...]
    seen: frozenset[str]


def parts(collection: Collection, count: int, *, seed: int) -> tuple[tuple[str, ...], ...]:
    """So many parts of about equal size, of the questions that have a relevant document; a need is never split.

    Nor are questions in the same words, whatever their needs.

    Needs that share relevant documents stand in one part as far as that goes: needs are lined up by a walk from
    each to those it shares documents with, starting at needs drawn by the seed, and the line is cut. BenchError
    where there are fewer needs than parts.
    """
    relevant, need_of = relevant_documents(collection), _needs(collection)
    members: dict[str, list[str]] = {}
    for query in collection.query_ids:
        if query in relevant:
            members.setdefault(need_of[query], []).append(query)
    if len(members) < count:
        raise BenchError(
            f"{collection.name}: {len(members)} needs have a relevant document, too few for {count} parts"
        )
    documents = {need: set().union(*(relevant[q] for q in queries)) for need, queries in members.items()}
    line = _walk(documents, seed=seed)
    pieces = _cut(line, [len(members[need]) for need in line], count)
    return tuple(tuple(sorted(q for need in piece for q in members[need])) for piece in pieces)


def holding_out(collection: Collection, *held_out: Sequence[str]) -> HeldOut:
    """What may be learned from while these questions are held out; BenchError where nothing is left."""
    relevant, need_of = relevant_documents(collection), _needs(collection)
    closed = {query for part in held_out for query in part}
    needs = {need_of[query] for query in closed}
    answers = frozenset().union(*(relevant.get(query, frozenset()) for query in closed))
    unseen = {doc.contents for doc in collection.docs if doc.id in answers}
    seen = frozenset(doc.id for doc in collection.docs if doc.contents not in unseen)
    learned = tuple(
        query
        for query in collection.query_ids
        if need_of[query] not in needs and relevant.get(query, frozenset()) & seen
    )
    if not learned:
        raise BenchError(
            f"{collection.name}: no question is left to learn from once {len(closed)} are held out "
            "with the documents that answer them; it takes more questions"
        )
    return HeldOut(queries=tuple(sorted(closed)), learned=learned, seen=seen)


def relevant_documents(collection: Collection) -> dict[str, frozenset[str]]:
    """The relevant documents of every question that has any."""
    found: dict[str, set[str]] = {}
    qrels = collection.qrels
    for query, doc, grade in zip(qrels.query_ids, qrels.doc_ids, qrels.grades.tolist(), strict=True):
        if grade >= RELEVANT:
            found.setdefault(query, set()).add(doc)
    return {query: frozenset(docs) for query, docs in found.items()}


def _needs(collection: Collection) -> dict[str, str]:
    """The need of every question; needs that have a question in the same words are one."""
    joined: dict[str, str] = {}

    def first(need: str) -> str:
        while need in joined:
            need = joined[need]
        return need

    asked: dict[str, str] = {}
    for query in collection.queries:
        own, other = first(query.need), first(asked.setdefault(query.text, query.need))
        if own != other:
            joined[own] = other
    return {query.id: first(query.need) for query in collection.queries}


def _walk(documents: dict[str, set[str]], *, seed: int) -> list[str]:
    """Needs in the order of a breadth-first walk over shared documents."""
    needs_of: dict[str, list[str]] = {}
    for need, docs in documents.items():
        for doc in sorted(docs):
            needs_of.setdefault(doc, []).append(need)
    starts = [sorted(documents)[i] for i in np.random.default_rng(seed).permutation(len(documents))]
    line: dict[str, None] = {}
    for start in starts:
        waiting = deque([start] if start not in line else [])
        while waiting:
            need = waiting.popleft()
            if need not in line:
                line[need] = None
                waiting.extend(other for doc in sorted(documents[need]) for other in needs_of[doc])
    return list(line)


def _cut(line: Sequence[str], sizes: Sequence[int], count: int) -> list[list[str]]:
    """The line in `count` pieces, none empty, of about equal total size."""
    ends = np.cumsum(sizes)
    pieces: list[list[str]] = []
    start = 0
    for piece in range(1, count + 1):
        goal = ends[-1] * piece / count
        end = int(np.argmin(np.abs(ends - goal))) + 1 if piece < count else len(line)
        end = min(max(end, start + 1), len(line) - (count - piece))
        pieces.append(list(line[start:end]))
        start = end
    return pieces
