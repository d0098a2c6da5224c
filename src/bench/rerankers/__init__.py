"""Rerankers: the same candidates in a new order."""

from __future__ import annotations

from typing import Protocol

from bench.collection import Collection
from bench.runs import Run


class Reranker(Protocol):
    """Scores the first `rerank_depth` candidates of each query and puts them in that order."""

    def rerank(self, run: Run, collection: Collection) -> Run:
        """The same documents for every query, newly ordered; what lies deeper follows in its order, below.

        The run gains the stage `rerank`; its first stage stands as `first`.
        """
