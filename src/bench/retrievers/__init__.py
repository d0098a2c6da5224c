"""Retrievers: documents in, an index that answers queries with a run out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bench.collection import Doc, Query
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
    """A recipe for an index over documents."""

    def index(self, docs: Sequence[Doc]) -> Index:
        """Make these documents searchable; they come in tie order, row i of the vocabulary is docs[i]."""
