"""Rankings that somebody else's system made, matched to the queries and documents of a collection."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.errors import BenchError, check_one_of, listing
from bench.ids import Ids
from bench.runs import Run

RANKINGS = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float64())])
"""One row a hit, in the order in which they came."""
UNKNOWN = ("error", "drop")
DUPLICATES = ("error", "keep-first")


class Matched(NamedTuple):
    """A run over the collection, and what had to be left out of it."""

    run: Run
    left_out: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Matching:
    """What becomes of hits that the collection does not know and of hits that come twice.

    `group` is the group of settings that the messages name. Unknown documents are an error, or are dropped:
    what stood below them moves up. Of a document that stands twice in a ranking, the first may be kept.
    """

    group: str
    unknown: str
    duplicates: str

    def __post_init__(self) -> None:
        check_one_of(f"{self.group}.unknown", self.unknown, UNKNOWN)
        check_one_of(f"{self.group}.duplicates", self.duplicates, DUPLICATES)

    def run(self, found: pa.Table, *, queries: tuple[str, ...], docs: Ids, depth: int) -> Matched:
        """The best `depth` of the hits (RANKINGS) of these queries; hits of other queries are a mistake.

        BenchError where ids are unknown or stand twice and that is not allowed, where of several queries every hit
        is unknown, so that nothing would be left of the system, or where a score is NaN.
        """
        rows = docs.rows(found["doc_id"])
        strangers = sorted(set(found["doc_id"].filter(pa.array(rows < 0)).to_pylist()))
        if strangers and self.unknown == "error":
            raise BenchError(self._strange(strangers, docs))
        # A query alone (its latency is taken) may well have nothing known among its hits.
        if strangers and len(queries) > 1 and not (rows >= 0).any():
            raise BenchError(self._all_strange(strangers, docs))
        known = found.filter(pa.array(rows >= 0))
        query = pc.index_in(known["query_id"], value_set=pa.array(queries, pa.string())).to_numpy()
        pairs = query.astype(np.int64) * len(docs) + rows[rows >= 0]
        first = np.sort(np.unique(pairs, return_index=True)[1])
        if len(first) < len(pairs) and self.duplicates == "error":
            raise BenchError(self._repeated(known, first))
        run = Run.from_table(known.take(pa.array(first)), queries=queries, docs=docs).top(depth)
        return Matched(
            run,
            {
                "unknown_documents": len(strangers),
                "unknown_hits": int((rows < 0).sum()),
                "duplicate_hits": len(pairs) - len(first),
            },
        )

    def _strange(self, strangers: Sequence[str], docs: Ids) -> str:
        return (
            f"{self.group}: it found {self._unlike(strangers, docs)}; write the same ids in both, "
            f"or set {self.group}.unknown=drop to leave such hits out"
        )

    def _all_strange(self, strangers: Sequence[str], docs: Ids) -> str:
        return (
            f"{self.group}.unknown=drop would leave nothing: all that it found are "
            f"{self._unlike(strangers, docs)}; write the same ids in both"
        )

    @staticmethod
    def _unlike(strangers: Sequence[str], docs: Ids) -> str:
        turned = [{unicodedata.normalize(form, one) for form in ("NFC", "NFD")} for one in strangers]
        alike = sum(bool((docs.rows(forms) >= 0).any()) for forms in turned)
        form = f"; {alike} of them differ only in Unicode form (NFC, NFD)" if alike else ""
        return (
            f"{len(strangers)} documents that are not in the collection ({listing(strangers)}), "
            f"whose ids are like {listing(docs[:3])}{form}"
        )

    def _repeated(self, known: pa.Table, first: np.ndarray) -> str:
        again = np.delete(np.arange(len(known)), first)
        hits = known.take(pa.array(again)).select(["query_id", "doc_id"]).to_pylist()
        pairs = dict.fromkeys(f"{hit['query_id']} / {hit['doc_id']}" for hit in hits)
        return (
            f"{self.group}: documents stand twice in a ranking ({listing(pairs)}); mend that, or set "
            f"{self.group}.duplicates=keep-first"
        )
