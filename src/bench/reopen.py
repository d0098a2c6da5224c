"""The collection of finished jobs, opened again where it came from, or on other judgements."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.collection import Collection
from bench.config import composed
from bench.errors import BenchError, listing
from bench.job import collection_of
from bench.loading import Collections
from bench.qrels import Qrels, open_parts

_CHOOSES = re.compile(r"[+~]*(collection|split|stress|experiment)\b")
"""An override that has a say in what the collection of a job is."""


def choice(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The overrides of the job's command that choose its collection."""
    return tuple(word for word in manifest["overrides"] if _CHOOSES.match(word))


def reopened(manifest: Mapping[str, Any]) -> Collection:
    """The collection as it is now where the job took it from.

    BenchError where it cannot be had there, or another one lies there by now.
    """
    collection = collection_of(composed(choice(manifest)), load=Collections())
    if collection.name != manifest["collection"]:
        raise BenchError(f"the collection that lies there now is called {collection.name}")
    return collection


def rejudged(collection: Collection, qrels: Qrels) -> Collection:
    """The collection with other judgements; its notes then tell what they name that it does not have.

    Judgements of queries that it does not ask are left out; documents that it does not have count in R. Unless
    the judgements bring parts, its own stay, with the documents that are relevant still.
    """
    own = qrels.of_queries(collection.query_ids)
    if not len(own):
        raise BenchError(
            f"{collection.name} and the judgements have no query in common: it asks "
            f"{listing(collection.query_ids, most=3)}; judged are {listing(qrels.judged_queries, most=3)}"
        )
    parts = own.parts or _still_relevant(collection.qrels.parts, own)
    judged = dataclasses.replace(own, parts=parts)
    notes = (*_strangers(collection, qrels), *open_parts(judged))
    return dataclasses.replace(collection, qrels=judged, notes=notes)


def _still_relevant(
    parts: Mapping[str, Mapping[str, Sequence[str]]], qrels: Qrels
) -> dict[str, dict[str, tuple[str, ...]]]:
    grades = qrels.by_query
    return {
        query: {
            part: tuple(doc for doc in docs if grades[query].get(doc, 0) >= 1)
            for part, docs in listed.items()
        }
        for query, listed in parts.items()
        if query in grades
    }


def _strangers(collection: Collection, qrels: Qrels) -> Iterator[str]:
    asked = set(collection.query_ids)
    others = [query for query in qrels.judged_queries if query not in asked]
    if others:
        yield f"left out: judgements of {len(others)} queries that it does not ask ({listing(others, most=5)})"
    known = set(collection.doc_ids)
    unknown = sorted({doc for doc in qrels.doc_ids if doc not in known})
    if unknown:
        where = (
            "that it does not have"
            if collection.whole_corpus is None
            else "that were not kept beside the runs"
        )
        yield f"judged are {len(unknown)} documents {where}; they count in R ({listing(unknown, most=5)})"
