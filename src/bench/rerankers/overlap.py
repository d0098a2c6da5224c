"""A reranker without a model: how much of the query stands in the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.rerankers.pairs import PairScores
from bench.text import TextAnalyzer

GRAM = 4


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The share of the query's distinct terms, and of their 4-grams, that the document has: the mean of both.

    A term is padded by one blank on either side before it is cut into grams, so that beginnings count twice.
    The grams see kin that the analyzer holds apart, and leave few ties. A query without a term scores 0
    everywhere, which leaves ties to the order of ids: interpolate to keep the first stage's.
    """

    analyzer: TextAnalyzer

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """From 0, nothing shared, to 1, all of the query found; no token is ever cut."""
        asked, held = self._features(queries), self._features(documents)
        pairs = zip(queries, documents, strict=True)
        values = [
            sum(_share(wanted, found) for wanted, found in zip(asked[query], held[document], strict=True)) / 2
            for query, document in pairs
        ]
        return PairScores(np.array(values, np.float64), np.zeros(len(values), np.int32))

    def _features(self, texts: Sequence[str]) -> dict[str, tuple[set[str], set[str]]]:
        distinct = list(dict.fromkeys(texts))
        terms = map(set, self.analyzer.analyze(distinct))
        return {text: (of_text, _grams(of_text)) for text, of_text in zip(distinct, terms, strict=True)}


def _grams(terms: set[str]) -> set[str]:
    padded = [f" {term} " for term in terms]
    return {term[i : i + GRAM] for term in padded for i in range(max(1, len(term) - GRAM + 1))}


def _share(wanted: set[str], found: set[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0
