"""What a reranker learns from: a question, documents that answer it, and documents that merely look as if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.collection import Collection
from bench.errors import BenchError, listing
from bench.qrels import RELEVANT
from bench.runs import Run
from bench.training.folds import HeldOut


@dataclass(frozen=True)
class Example:
    """One question with the documents of a list; at least one grade is above 0."""

    query: str
    documents: tuple[str, ...]
    grades: tuple[float, ...]
    agreement: tuple[float, ...]
    """How highly the systems rank each document, all of them together: see `Mined`."""


@dataclass(frozen=True, kw_only=True)
class Mined:
    """The documents of every question that systems rank highly, best first, and how they were judged.

    The candidates of several systems are merged by what they agree on: the weighted sum of each system's z-scores
    over what it found for the question; a document that a system did not find has its least. With `within`, a key
    of the metadata, only documents with the question's own value are candidates.
    """

    collection: Collection
    agreement: dict[str, dict[str, float]]
    """Of every candidate of a question, by the ids of both."""

    @classmethod
    def by(
        cls, runs: Sequence[tuple[Run, float]], collection: Collection, *, within: str | None = None
    ) -> Mined:
        """What these runs over the collection found, each with its weight."""
        group = {doc.id: doc.metadata.get(within) for doc in collection.docs} if within else {}
        wanted = {query.id: query.metadata.get(within) for query in collection.queries} if within else {}
        if within:
            check_within(collection, within)
        found: dict[str, list[dict[str, float]]] = {query: [] for query in collection.query_ids}
        for run, weight in runs:
            for query, rows, scores in zip(run.queries, run.rows, run.scores, strict=True):
                pairs = [(run.docs[row], score) for row, score in zip(rows, scores, strict=True) if row >= 0]
                own = [(doc, score) for doc, score in pairs if not within or group[doc] == wanted[query]]
                found[query].append(_weighted(own, weight))
        return cls(collection=collection, agreement={q: _summed(each) for q, each in found.items()})

    @cached_property
    def candidates(self) -> dict[str, tuple[str, ...]]:
        """Those of every question, the most agreed on first."""
        return {
            query: tuple(sorted(of_query, key=lambda doc: (-of_query[doc], doc)))
            for query, of_query in self.agreement.items()
        }

    def examples(self, held_out: HeldOut, *, negatives: int, seed: int) -> list[Example]:
        """One example a question that may be learned from, in random order, each with other hard negatives by seed.

        Negatives are documents that were not found relevant, the highest candidates the likelier; behind the
        candidates come those that were judged so and are none. No document that is held out is shown.
        """
        random = np.random.default_rng(seed)
        made = []
        for query in random.permutation(list(held_out.learned)).tolist():
            grades = self._grades[query]
            answers = [d for d, grade in grades.items() if grade >= RELEVANT and d in held_out.seen]
            wrong = [d for d in self._negatives(query) if d in held_out.seen]
            drawn = _drawn(wrong, negatives, random)
            documents = [*answers, *drawn]
            least = min(self.agreement[query].values(), default=0.0)
            made.append(
                Example(
                    self.collection.query_texts[query],
                    tuple(self._texts[d] for d in documents),
                    tuple(grades[d] for d in answers) + (0.0,) * len(drawn),
                    tuple(self.agreement[query].get(d, least) for d in documents),
                )
            )
        return made

    def run(self, queries: Sequence[str], *, depth: int) -> Run:
        """The first candidates of these questions as a run."""
        docs = self.collection.doc_ids
        rows = np.full((len(queries), depth), -1, np.int32)
        for place, query in enumerate(queries):
            found = docs.rows(self.candidates[query][:depth])
            rows[place, : len(found)] = found
        scores = np.broadcast_to(-np.arange(depth, dtype=np.float64), rows.shape)
        return Run(tuple(queries), docs, rows, scores)

    def _negatives(self, query: str) -> list[str]:
        grades, candidates = self._grades[query], self.candidates[query]
        judged = sorted(grades.keys() - set(candidates))
        return [d for d in (*candidates, *judged) if grades.get(d, 0.0) < RELEVANT]

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {doc.id: doc.contents for doc in self.collection.docs}

    @cached_property
    def _grades(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {query: {} for query in self.collection.query_ids}
        qrels = self.collection.qrels
        for query, doc, grade in zip(qrels.query_ids, qrels.doc_ids, qrels.grades.tolist(), strict=True):
            if query in found:
                found[query][doc] = grade
        return found


def check_within(collection: Collection, key: str) -> None:
    """BenchError where a question has no such metadata, or no document has."""
    if lacking := [query.id for query in collection.queries if query.metadata.get(key) is None]:
        raise BenchError(f"train.within={key}: no such metadata in the queries {listing(lacking)}")
    if all(doc.metadata.get(key) is None for doc in collection.docs):
        raise BenchError(f"train.within={key}: no document has such metadata")


def _drawn(ranked: Sequence[str], count: int, random: np.random.Generator) -> list[str]:
    """So many of a ranking, without repetition, the document at place i with a weight of 1 / (i + 1)."""
    if len(ranked) <= count:
        return list(ranked)
    weights = 1 / np.arange(1, len(ranked) + 1)
    chosen = random.choice(len(ranked), size=count, replace=False, p=weights / weights.sum())
    return [ranked[i] for i in sorted(chosen.tolist())]


def _weighted(found: Sequence[tuple[str, float]], weight: float) -> dict[str, float]:
    """The z-scores of what a system found, times its weight."""
    values = np.array([score for _, score in found])
    spread = values.std() if len(values) else 0.0
    z = (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
    return {doc: weight * float(one) for (doc, _), one in zip(found, z, strict=True)}


def _summed(each: Sequence[dict[str, float]]) -> dict[str, float]:
    """The sum over systems, of which each gives its least to what it did not find."""
    least = [min(found.values(), default=0.0) for found in each]
    every = dict.fromkeys(doc for found in each for doc in found)
    return {doc: sum(found.get(doc, low) for found, low in zip(each, least, strict=True)) for doc in every}
