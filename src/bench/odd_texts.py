"""What is odd about the documents and queries of a collection and yet allowed, said and counted."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from bench.collection import Doc, Query
from bench.errors import listing


def odd_texts(
    docs: Mapping[str, Doc], queries: Mapping[str, Query], *, judged: Container[str]
) -> Iterator[str]:
    """Notes on texts that are empty or stand twice, and on queries that are not among the judged."""
    empty = [doc.id for doc in docs.values() if not doc.contents.strip()]
    if empty:
        yield f"{len(empty)} documents without text: {listing(empty, most=5)}"
    first: dict[str, str] = {}
    twins = [(doc.id, first.setdefault(doc.contents, doc.id)) for doc in docs.values()]
    repeated = [f"{doc} ({other})" for doc, other in twins if doc != other]
    if repeated:
        yield f"{len(repeated)} documents repeat the text of another: {listing(repeated, most=5)}"
    silent = [query.id for query in queries.values() if not query.text.strip()]
    if silent:
        yield f"{len(silent)} queries without text: {listing(silent, most=5)}"
    unjudged = [query for query in queries if query not in judged]
    if unjudged:
        yield f"{len(unjudged)} of {len(queries)} queries have no judgement and are left out of every mean"
