"""Retrievers: documents in, an index that answers queries with a run out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bench.collection import Doc, Query
from bench.ids import Ids
from bench.runs import Run


class Index(Protocol):
    """Documents made searchable, always ready."""

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The best `depth` documents of each query, fewer where fewer are hits, over the documents' ids."""

    def facts(self) -> dict[str, object]:
        """What is worth recording: parameters read back, sizes in bytes, texts cut, short lists."""

    def close(self) -> None:
        """Let go of files, memory and servers."""


class Retriever(Protocol):
    """A recipe for an index over documents.

    It may have more, which is looked for and not required:

    - `identity()`, where its settings alone would say too much or too little of what it ranks;
    - `check(documents)`, which raises Unsuitable or Unavailable before any job starts (no model is loaded);
    - `elsewhere = True`: its index is made elsewhere, so the seconds of indexing are not told;
    - `stored = True`: it reads what was ranked before, so its latency is not measured;
    - `library`: the library whose stores alone it searches; a store says its own in an attribute of this name.
    """

    def index(self, docs: Sequence[Doc]) -> Index:
        """Make these documents searchable; they come in tie order, row i of the vocabulary is docs[i]."""


def ids_of(docs: Sequence[Doc]) -> Ids:
    """The vocabulary of documents, which come in tie order, each once."""
    ids = Ids(doc.id for doc in docs)
    if list(ids) != [doc.id for doc in docs]:
        raise ValueError("documents come in tie order, each once: take those of a Collection")
    return ids
