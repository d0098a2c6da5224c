"""Text analysis: texts in, the terms that a lexical retriever counts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TextAnalyzer(Protocol):
    """Turns texts into terms, documents and queries alike."""

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in their order, as often as they stand there."""
