"""No reranker: what a system without one has in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bench.collection import Collection
from bench.runs import Run


@dataclass(frozen=True)
class Unchanged:
    """Leaves every ranking as the retriever made it."""

    depth: ClassVar[int] = 0
    """How many candidates it scores."""

    def rerank(self, run: Run, _collection: Collection) -> Run:
        """The run itself."""
        return run
