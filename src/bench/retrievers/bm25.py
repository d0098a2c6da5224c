"""BM25 over the terms of an analyzer, computed by bm25s or by rank_bm25."""

from __future__ import annotations

import logging
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import bm25s
import numpy as np
import numpy.typing as npt
import rank_bm25

from bench.collection import Doc, Query
from bench.errors import BenchError, check_number, did_you_mean
from bench.retrievers import ids_of
from bench.runs import Run
from bench.stores import top_k
from bench.text import TextAnalyzer

# bm25s sets its logger to DEBUG when imported, which would print whatever level the program has chosen.
logging.getLogger("bm25s").setLevel(logging.NOTSET)

# The first method of an engine is its own choice.
METHODS = {
    "bm25s": ("lucene", "robertson", "atire", "bm25l", "bm25+"),
    "rank_bm25": ("okapi", "bm25+"),
}
# What is added to every term's weight, as Lv and Zhai (2011) advise.
DELTAS = {"bm25l": 0.5, "bm25+": 1.0}

Scored = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class BM25:
    """Okapi BM25 (Robertson et al. 1994) and its variants (Kamphuis et al. 2020). A hit shares a term.

    `method` is the formula, by default the engine's own: lucene in bm25s, okapi in rank_bm25. `delta` belongs
    to bm25l and bm25+ alone. `k1` says how soon repetition of a term stops counting, `b` how much a long
    document is held back. A term counts as often as the query says it.

    rank_bm25 is used as it is: its okapi gives a term that stands in exactly half of the documents the
    weight 0, and one in more of them a quarter of the mean weight, which in a small corpus is negative, so
    that the best match comes last. Its time grows with documents times terms: use it up to 100,000 documents.
    """

    analyzer: TextAnalyzer
    engine: str = "bm25s"
    k1: float = 1.5
    b: float = 0.75
    method: str | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.engine not in METHODS:
            raise BenchError(f"bm25.engine={self.engine!r}{did_you_mean(str(self.engine), METHODS)}")
        methods = METHODS[self.engine]
        if self.method is None:
            object.__setattr__(self, "method", methods[0])
        if self.method not in methods:
            raise BenchError(f"bm25.method={self.method!r}: {self.engine} has {', '.join(methods)}")
        if self.delta is None:
            object.__setattr__(self, "delta", DELTAS.get(str(self.method)))
        elif self.method not in DELTAS:
            raise BenchError(f"bm25.delta={self.delta}: {self.method} has no delta, leave it null")
        check_number("bm25.k1", self.k1, above=True)
        check_number("bm25.b", self.b, most=1)
        if self.delta is not None:
            check_number("bm25.delta", self.delta)

    def index(self, docs: Sequence[Doc]) -> BM25Index:
        """Count the terms of these documents, which come in tie order."""
        return BM25Index(self, docs)


class BM25Index:
    """Documents by the terms they hold."""

    def __init__(self, recipe: BM25, docs: Sequence[Doc]) -> None:
        self._recipe = recipe
        self._ids = ids_of(docs)
        terms = recipe.analyzer.analyze([doc.contents for doc in docs])
        self._lengths = np.array([len(found) for found in terms], np.int64)
        # Neither package can hold a corpus without a single term; nothing is ever found in it.
        engine = _BM25S if recipe.engine == "bm25s" else _RankBM25
        self._engine: _Engine | None = engine(recipe, terms) if self._lengths.any() else None

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """The best `depth` documents of each query among those that share a term with it."""
        rows = np.full((len(queries), depth), -1, np.int32)
        scores = np.full((len(queries), depth), -np.inf)
        for place, terms in enumerate(self._recipe.analyzer.analyze([query.text for query in queries])):
            if self._engine is None or not terms:
                continue
            found, values = self._engine.score(terms)
            best = top_k(values[None], depth).rows[0]
            best = best[best >= 0]
            rows[place, : len(best)] = found[best]
            scores[place, : len(best)] = values[best]
        return Run(tuple(query.id for query in queries), self._ids, rows, scores)

    def facts(self) -> dict[str, object]:
        """The engine, what it holds and what that occupies in memory."""
        return {
            "engine": self._recipe.engine,
            "documents": len(self._ids),
            "documents_without_terms": int((self._lengths == 0).sum()),
            "mean_length": float(self._lengths.mean()) if len(self._ids) else 0.0,
            **(self._engine.facts() if self._engine else {"terms": 0, "index_bytes": 0}),
        }

    def close(self) -> None:
        """There is nothing to let go of."""


class _Engine(Protocol):
    def score(self, terms: list[str]) -> Scored:
        """The rows, rising, of the documents that share a term with the query, and their scores."""

    def facts(self) -> dict[str, object]: ...


class _BM25S:
    """Every weight is computed with the index (Lù 2024); a search adds up columns of a sparse matrix."""

    def __init__(self, recipe: BM25, documents: list[list[str]]) -> None:
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms] for terms in documents]
        self._bm25 = bm25s.BM25(
            k1=recipe.k1,
            b=recipe.b,
            method=recipe.method,
            delta=recipe.delta,
            dtype="float64",
            csc_backend="scipy",
        )
        self._bm25.index((ids, vocabulary), create_empty_token=False, show_progress=False)

    def score(self, terms: list[str]) -> Scored:
        known = self._bm25.get_tokens_ids(terms)
        matrix = self._bm25.scores
        shares = np.zeros(matrix["num_docs"], bool)
        for term in set(known):
            shares[matrix["indices"][matrix["indptr"][term] : matrix["indptr"][term + 1]]] = True
        rows = np.flatnonzero(shares)
        return rows, self._bm25.get_scores_from_ids(known)[rows]

    def facts(self) -> dict[str, object]:
        matrix = self._bm25.scores
        return {
            "terms": len(self._bm25.vocab_dict),
            "index_bytes": sum(matrix[part].nbytes for part in ("data", "indices", "indptr")),
        }


class _RankBM25:
    """Counts kept by document; a search reads all of them for every term."""

    def __init__(self, recipe: BM25, documents: list[list[str]]) -> None:
        if recipe.method == "okapi":
            self._bm25 = rank_bm25.BM25Okapi(documents, k1=recipe.k1, b=recipe.b)
        else:
            self._bm25 = rank_bm25.BM25Plus(documents, k1=recipe.k1, b=recipe.b, delta=recipe.delta)
        self._rows: dict[str, list[int]] = defaultdict(list)
        for row, counts in enumerate(self._bm25.doc_freqs):
            for term in counts:
                self._rows[term].append(row)

    def score(self, terms: list[str]) -> Scored:
        known = [term for term in terms if term in self._rows]
        rows = np.unique(np.concatenate([np.array([], np.int64), *(self._rows[term] for term in known)]))
        return rows, self._bm25.get_scores(known)[rows]

    def facts(self) -> dict[str, object]:
        return {
            "terms": len(self._rows),
            "index_bytes": sum(map(sys.getsizeof, [*self._bm25.doc_freqs, *self._rows.values()])),
        }
