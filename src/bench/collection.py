"""What a job is run on: documents, queries and the judgements that say which answers which."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError, listing
from bench.identity import digest
from bench.ids import Ids
from bench.qrels import Qrels

TOKEN = re.compile(r"\w+|[^\w\s]")
"""What counts as a token of the context, unless a tokenizer is named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Doc:
    """One chunk of a policy."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def contents(self) -> str:
        """What every part reads: title, one blank, text; the text alone where there is no title."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One question. Queries that say the same thing share the `need` of their metadata."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def need(self) -> str:
        """The unit of every statistic: the need, or the query itself where none is given."""
        return str(self.metadata.get("need") or self.id)


@dataclass(frozen=True, kw_only=True, eq=False)
class Collection:
    """Documents in tie order (see Ids), queries by id, and their qrels.

    `notes` are what loading found worth saying and the user should hear; they change nothing.
    """

    name: str
    docs: tuple[Doc, ...]
    queries: tuple[Query, ...]
    qrels: Qrels
    language: str | None = None
    max_grade: float | None = None
    notes: tuple[str, ...] = ()
    whole_corpus: str | None = None
    """The digest of the whole corpus, where only some of its documents are at hand."""

    def __post_init__(self) -> None:
        for kind, items in (("document", self.docs), ("query", self.queries)):
            twice = _repeated(item.id for item in items)
            if twice:
                raise BenchError(f"collection {self.name}: {kind} ids stand twice: {listing(twice)}")
        object.__setattr__(self, "docs", tuple(sorted(self.docs, key=lambda doc: doc.id, reverse=True)))
        object.__setattr__(self, "queries", tuple(sorted(self.queries, key=lambda query: query.id)))

    @cached_property
    def doc_ids(self) -> Ids:
        """The vocabulary that runs over this collection use; row i is docs[i]."""
        return Ids(doc.id for doc in self.docs)

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """Ids of the queries, ascending."""
        return tuple(query.id for query in self.queries)

    @cached_property
    def query_texts(self) -> dict[str, str]:
        """The text of each query by id."""
        return {query.id: query.text for query in self.queries}

    @cached_property
    def doc_tokens(self) -> npt.NDArray[np.int64]:
        """How many tokens, words and marks, each document has, by row; ñ is one letter however it was typed."""
        composed = (unicodedata.normalize("NFC", doc.contents) for doc in self.docs)
        return np.array([len(TOKEN.findall(text)) for text in composed], np.int64)

    @cached_property
    def corpus_digest(self) -> str:
        """A name for what is searched: ids, titles and texts, whatever their order in the file."""
        if self.whole_corpus is not None:
            return self.whole_corpus
        return digest(*(part for doc in self.docs for part in (doc.id, doc.title, doc.text)))

    @cached_property
    def queries_digest(self) -> str:
        """A name for what is asked: ids and texts."""
        return digest(*(part for query in self.queries for part in (query.id, query.text)))

    @cached_property
    def qrels_digest(self) -> str:
        """A name for what answers are held against: judgements, the declared scale, and which queries share a need."""
        scale = "" if self.max_grade is None else f"{self.max_grade:g}"
        shared = (part for query in self.queries if query.need != query.id for part in (query.id, query.need))
        return digest(self.qrels.digest, scale, *shared)

    @property
    def digests(self) -> dict[str, str]:
        """The state it is in, by the name of each part."""
        return {"corpus": self.corpus_digest, "queries": self.queries_digest, "qrels": self.qrels_digest}

    def limited(self, queries: int) -> Collection:
        """The same with only the first so many queries (by id) and their judgements, for a first look."""
        kept = self.queries[:queries]
        return dataclasses.replace(
            self, queries=kept, qrels=self.qrels.of_queries(query.id for query in kept)
        )


def _repeated(ids: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [item for item in ids if item in seen or seen.add(item)]  # type: ignore[func-returns-value]
