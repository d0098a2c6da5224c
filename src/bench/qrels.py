"""Judgements: which document answers which query, how well, and which part of the answer it covers."""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.encoding import order
from bench.errors import BenchError, listing
from bench.identity import digest
from bench.ids import Ids

RELEVANT = 1
"""The least grade of a document that is relevant."""
ANSWERS = 2
"""The grade of a document that answers the query or one of its parts."""


@dataclass(frozen=True, eq=False)
class Qrels:
    """One row a judged pair, sorted by query and document; what has no row is unjudged.

    A grade of 1 or more is relevant, 0 judged and not relevant; negative grades give no gain, fractions are
    kept. `parts` lists, for the queries that have several, which documents cover each part of the answer.
    """

    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    grades: npt.NDArray[np.float64]
    parts: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    _rows: list[tuple[Ids, npt.NDArray[np.int32]]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        queries, docs, grades = tuple(self.query_ids), tuple(self.doc_ids), np.array(self.grades, np.float64)
        if not len(queries) == len(docs) == len(grades):
            raise ValueError(f"{len(queries)} queries, {len(docs)} documents and {len(grades)} grades")
        if not np.isfinite(grades).all():
            wrong = [f"{queries[i]} / {docs[i]}" for i in np.flatnonzero(~np.isfinite(grades)).tolist()]
            raise BenchError(f"grades that are no number: {listing(wrong)}")
        # Rising pairs are in order and stand there once each.
        if not all(
            map(operator.lt, zip(queries, docs, strict=True), zip(queries[1:], docs[1:], strict=True))
        ):
            pairs = list(zip(queries, docs, strict=True))
            if len(set(pairs)) != len(pairs):
                twice = sorted(pair for pair, count in Counter(pairs).items() if count > 1)
                raise BenchError(f"pairs judged twice: {listing(f'{q} / {d}' for q, d in twice)}")
            order = sorted(range(len(pairs)), key=pairs.__getitem__)
            queries, docs = tuple(queries[i] for i in order), tuple(docs[i] for i in order)
            grades = grades[order]
        object.__setattr__(self, "query_ids", queries)
        object.__setattr__(self, "doc_ids", docs)
        object.__setattr__(self, "grades", grades)
        object.__setattr__(self, "parts", {query: dict(parts) for query, parts in sorted(self.parts.items())})

    @classmethod
    def of(
        cls,
        judgements: Mapping[str, Mapping[str, float]],
        *,
        parts: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    ) -> Qrels:
        """Qrels from `{query: {document: grade}}` and `{query: {part: documents}}`."""
        rows = [(query, doc, grade) for query, docs in judgements.items() for doc, grade in docs.items()]
        return cls(
            tuple(query for query, _, _ in rows),
            tuple(doc for _, doc, _ in rows),
            np.array([grade for _, _, grade in rows], np.float64),
            {q: {part: tuple(docs) for part, docs in ps.items()} for q, ps in (parts or {}).items()},
        )

    @classmethod
    def of_columns(
        cls, queries: pa.DictionaryArray, docs: pa.DictionaryArray, grades: npt.NDArray[np.float64]
    ) -> Qrels:
        """Qrels from columns in any order [n], the ids encoded over dictionaries whose every entry is in use."""
        query, known_queries = _in_order(queries)
        doc, known_docs = _in_order(docs)
        _, places = np.unique(query * len(known_docs) + doc, return_index=True)
        query, doc = query[places], doc[places]
        texts = (np.array([*known.to_pylist(), ""], object) for known in (known_queries, known_docs))
        query_ids, doc_ids = (
            tuple(every[at].tolist()) for every, at in zip(texts, (query, doc), strict=True)
        )
        made = cls(query_ids, doc_ids, grades[places])
        # What the properties of these names would find out, at a cost, from the texts.
        vars(made).update(
            judged_queries=tuple(known_queries.to_pylist()),
            query_codes=query,
            doc_array=known_docs.take(pa.array(doc)),
        )
        return made

    def __len__(self) -> int:
        return len(self.grades)

    @cached_property
    def judged_queries(self) -> tuple[str, ...]:
        """Queries with at least one judgement, ascending."""
        return tuple(dict.fromkeys(self.query_ids))

    @cached_property
    def query_codes(self) -> npt.NDArray[np.int64]:
        """The position of each row's query among the judged ones, rising."""
        codes = pa.array(self.query_ids, pa.string()).dictionary_encode().indices
        return np.asarray(codes, np.int64)

    @cached_property
    def doc_array(self) -> pa.Array:
        """The documents of the rows as an Arrow array."""
        return pa.array(self.doc_ids, pa.string())

    def rows_in(self, docs: Ids) -> npt.NDArray[np.int32]:
        """The row of each document in a vocabulary, -1 where it has none; kept, as many runs share a vocabulary."""
        for known, rows in self._rows:
            if known is docs:
                return rows
        rows = docs.rows(self.doc_array)
        self._rows[:] = [(docs, rows)]
        return rows

    @cached_property
    def part_bits(self) -> npt.NDArray[np.uint64]:
        """Which parts of its query's answer the document of each row covers, one bit a part.

        A query that is not listed has one part, which any document that answers it covers.
        """
        bits = np.array(self.grades >= ANSWERS, np.uint64)
        for query, listed in self.parts.items():
            if len(listed) > 64:
                raise BenchError(f"query {query} has {len(listed)} parts; at most 64 can be told apart")
            for row in range(bisect_left(self.query_ids, query), bisect_right(self.query_ids, query)):
                bits[row] = sum(
                    1 << bit for bit, docs in enumerate(listed.values()) if self.doc_ids[row] in docs
                )
        return bits

    @cached_property
    def listed_parts(self) -> npt.NDArray[np.uint64]:
        """Which parts the answer of each judged query has, one bit a part, whether anything covers it or not.

        A query that is not listed has one part, and none where no document answers it.
        """
        bits = np.zeros(len(self.judged_queries), np.uint64)
        bits[self.query_codes[self.part_bits > 0]] = 1
        for query, listed in self.parts.items():
            place = bisect_left(self.judged_queries, query)
            if self.judged_queries[place : place + 1] == (query,):
                bits[place] = (1 << len(listed)) - 1
        return bits

    @cached_property
    def never_complete(self) -> tuple[str, ...]:
        """Judged queries with a part of the answer that no judged document covers, ascending."""
        covered = np.zeros(len(self.judged_queries), np.uint64)
        np.bitwise_or.at(covered, self.query_codes, self.part_bits)
        open_parts = self.listed_parts & ~covered
        return tuple(self.judged_queries[place] for place in np.flatnonzero(open_parts).tolist())

    @cached_property
    def digest(self) -> str:
        """A name for these judgements and parts."""
        rows = zip(self.query_ids, self.doc_ids, self.grades.tolist(), strict=True)
        lines = [f"{query}\t{doc}\t{grade!r}" for query, doc, grade in rows]
        lines += [
            f"{q}\t{part}\t{' '.join(docs)}" for q, ps in self.parts.items() for part, docs in ps.items()
        ]
        return digest(*lines)

    @cached_property
    def by_query(self) -> dict[str, dict[str, float]]:
        """The judgements as `{query: {document: grade}}`."""
        nested: dict[str, dict[str, float]] = {}
        for query, doc, grade in zip(self.query_ids, self.doc_ids, self.grades.tolist(), strict=True):
            nested.setdefault(query, {})[doc] = grade
        return nested

    def of_queries(self, queries: Iterable[str]) -> Qrels:
        """The judgements of these queries alone."""
        kept = set(queries)
        rows = [i for i, query in enumerate(self.query_ids) if query in kept]
        return Qrels(
            tuple(self.query_ids[i] for i in rows),
            tuple(self.doc_ids[i] for i in rows),
            self.grades[rows],
            {query: parts for query, parts in self.parts.items() if query in kept},
        )


def open_parts(qrels: Qrels) -> Iterator[str]:
    """A note of the queries that cannot be complete, where there are some."""
    if never := qrels.never_complete:
        yield (
            f"{len(never)} queries have a part of the answer that no judged document covers: Complete@k is 0 "
            f"there ({listing(never, most=5)})"
        )


def _in_order(ids: pa.DictionaryArray) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """The ids as numbers in the order of their texts, and the texts, unique and ascending."""
    rising = order(ids.dictionary)
    number_of = np.empty(len(rising), np.int64)
    number_of[rising] = np.arange(len(rising))
    return number_of[np.asarray(ids.indices)], ids.dictionary.take(pa.array(rising))
