"""What a file of judgements or hits holds before it is looked at: pairs of query and document, each with a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.encoding import encoded, order
from bench.lines import Problems

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

QUERY_NAMES = ("query_id", "query", "qid", "q_id", "topic_id", "topic")
DOC_NAMES = (
    "doc_id", "corpus_id", "document_id", "docid", "docno", "doc", "document", "did", "pid", "passage_id", "chunk_id",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What is read: judgements with their grades, or hits with their scores."""

    noun: str
    value: str
    value_names: tuple[str, ...]
    """What the column of numbers may be called, most telling first."""
    finite: bool
    """Whether an infinite number is wrong."""
    read: str
    """The forms that are read, for a person."""

    def wrong(self, values: Numbers) -> npt.NDArray[np.bool_]:
        """Where a number is not one of this kind."""
        return ~np.isfinite(values) if self.finite else np.isnan(values)


JUDGEMENTS = Kind(
    "judgement",
    "grade",
    ("relevance", "rel", "grade", "label", "judgement", "judgment", "score"),
    True,
    "judgements are read as TREC (query iteration document grade, separated by blanks or tabs), BEIR (query-id, "
    'corpus-id, score, separated by tabs), JSON ({"query": {"document": grade}}, or objects with query_id, doc_id '
    "and relevance) and Parquet (query_id, doc_id, relevance), each gzipped too",
)
HITS = Kind(
    "hit",
    "score",
    ("score", "sim", "similarity"),
    False,
    "runs are read as TREC (query Q0 document rank score tag, separated by blanks or tabs), JSON "
    '({"query": {"document": score}}, or objects with query_id, doc_id and score) and Parquet (query_id, doc_id, '
    "score), each gzipped too",
)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs in the order of their file, n of them; a pair may stand there twice.

    `query` and `doc` are dictionary-encoded strings [n], every entry of a dictionary unique and in use; `value` is
    the grade or score.
    """

    query: pa.DictionaryArray
    doc: pa.DictionaryArray
    value: Numbers
    rank: Numbers | None = None
    """The rank that the file gives, NaN where it gives none; it orders nothing."""
    line: Places | None = None
    """Where each stands in the file, from 1; None where that is not known (yet)."""
    unit: str = "line"
    """What is counted there: lines, rows of a table, entries of a list."""
    notes: tuple[str, ...] = ()
    """What was odd or left out so far, counted."""

    @classmethod
    def of(
        cls,
        queries: Sequence[str] | pa.Array,
        docs: Sequence[str] | pa.Array,
        values: Sequence[float] | Numbers,
        *,
        ranks: Sequence[float] | Numbers | None = None,
        lines: Sequence[int] | Places | None = None,
        unit: str = "line",
        notes: Sequence[str] = (),
    ) -> Pairs:
        """Pairs from columns."""
        return cls(
            encoded(_strings(queries)),
            encoded(_strings(docs)),
            np.asarray(values, np.float64),
            None if ranks is None else np.asarray(ranks, np.float64),
            None if lines is None else np.asarray(lines, np.int64),
            unit,
            tuple(notes),
        )

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        """The pairs of several parts of a file, one after the other."""
        if not parts:
            return cls.none()
        query, doc = (
            pa.chunked_array([getattr(part, name) for part in parts]).unify_dictionaries().combine_chunks()
            for name in ("query", "doc")
        )
        ranks = [part.rank for part in parts if part.rank is not None]
        lines = [part.line for part in parts if part.line is not None]
        return cls(
            query,
            doc,
            np.concatenate([part.value for part in parts]),
            np.concatenate(ranks) if len(ranks) == len(parts) else None,
            np.concatenate(lines) if len(lines) == len(parts) else None,
        )

    @classmethod
    def none(cls) -> Pairs:
        """No pairs."""
        return cls.of([], [], [])

    def __len__(self) -> int:
        return len(self.value)

    @property
    def keys(self) -> npt.NDArray[np.unsignedinteger]:
        """A number for each pair of query and document, equal for equal pairs, [n]."""
        documents = len(self.doc.dictionary)
        kind = np.dtype(np.uint32 if len(self.query.dictionary) * documents < 2**32 else np.uint64)
        query, doc = (np.asarray(ids.indices, kind) for ids in (self.query, self.doc))
        return np.asarray(query * kind.type(documents) + doc, kind)

    @cached_property
    def repeated(self) -> bool:
        """Whether some pair stands twice."""
        ordered = np.sort(self.keys)
        return bool((ordered[1:] == ordered[:-1]).any())

    @property
    def first(self) -> Places:
        """For each pair where it stands first, [n]: its own place unless it is a repetition."""
        _, first, which = np.unique(self.keys, return_index=True, return_inverse=True)
        return np.asarray(first[which], np.int64)

    def taken(self, places: Places) -> Pairs:
        """The pairs at these places, in their order."""
        return replace(
            self,
            query=encoded(self.query.take(pa.array(places)).cast(pa.string())),
            doc=encoded(self.doc.take(pa.array(places)).cast(pa.string())),
            value=self.value[places],
            rank=None if self.rank is None else self.rank[places],
            line=None if self.line is None else self.line[places],
        )

    def by_query(self) -> dict[str, dict[str, float]]:
        """The pairs as `{query: {document: value}}`, the last of equal ones."""
        nested: dict[str, dict[str, float]] = {}
        every = np.arange(len(self))
        for query, doc, value in zip(
            _texts(self.query, every), _texts(self.doc, every), self.value.tolist(), strict=True
        ):
            nested.setdefault(query, {})[doc] = value
        return nested

    def in_tie_order(self) -> pa.DictionaryArray:
        """The documents encoded over a dictionary in the order of `ids.Ids`, later ids first."""
        falling = order(self.doc.dictionary)[::-1]
        row = np.empty(len(falling), np.int32)
        row[falling] = np.arange(len(falling), dtype=np.int32)
        return pa.DictionaryArray.from_arrays(
            row[np.asarray(self.doc.indices)], self.doc.dictionary.take(pa.array(falling))
        )

    def where(self, place: int) -> str:
        """Where a pair stands in the file, as `line 3`; empty where that is not known."""
        return "" if self.line is None else f"{self.unit} {self.line[place]}"

    def add_to(self, problems: Problems, path: Path, place: int, problem: str) -> None:
        """Note a problem of a pair."""
        if self.unit == "line":
            problems.add(path, 0 if self.line is None else int(self.line[place]), problem)
        else:
            problems.add(path, 0, f"{self.where(place)}: {problem}")


def number(text: str) -> float:
    """The number that a text says, NaN where it says none."""
    try:
        # Python takes 1_0 for 10, and digits of every script.
        return float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return np.nan


def name(text: str) -> str:
    """The name of a column however it was written."""
    return text.strip().lower().replace("-", "_").replace(" ", "_")


def _strings(ids: Sequence[str] | pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return ids if isinstance(ids, (pa.Array, pa.ChunkedArray)) else pa.array(ids, pa.string())


def _texts(ids: pa.DictionaryArray, places: Places) -> list[str]:
    """The ids at these places, equal ones as one and the same text."""
    texts = np.array([*ids.dictionary.to_pylist(), ""], object)
    return list(texts[np.asarray(ids.indices)[places]].tolist())
