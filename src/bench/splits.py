"""Two halves of a collection's questions, by need: settings are chosen on one and reported on the other."""

from __future__ import annotations

import dataclasses

from bench.collection import Collection
from bench.errors import BenchError, did_you_mean
from bench.identity import digest

SPLITS = ("all", "dev", "test")
# Of the first 3000 numbers the one that divides every type of Aurora's and Boreal's questions most evenly; no ranking
# was looked at.
SALT = "split 1198"


def half_of(need: str) -> str:
    """`dev` or `test`, told by the need alone: what is added to a collection moves nothing in it."""
    return "dev" if int(digest(SALT, need), 16) % 2 == 0 else "test"


def split(collection: Collection, half: str) -> Collection:
    """The collection with the queries of one half and their judgements, named `<name>-<half>`; `all` changes nothing.

    Queries that share a need stay together. The halves are about equally large, and so is a type's share in
    them: by the choice of SALT in Aurora and Boreal, elsewhere as chance has it, for stratifying by type would
    move needs when others are added. BenchError where the half is unknown or empty.
    """
    if half not in SPLITS:
        raise BenchError(f"split={half}{did_you_mean(half, SPLITS)}")
    if half == "all":
        return collection
    queries = tuple(query for query in collection.queries if half_of(query.need) == half)
    needs, every = ({query.need for query in some} for some in (queries, collection.queries))
    if not queries:
        raise BenchError(
            f"split={half} is empty: {collection.name} has {len(every)} needs, all in the other half"
        )
    return dataclasses.replace(
        collection,
        name=f"{collection.name}-{half}",
        queries=queries,
        qrels=collection.qrels.of_queries(query.id for query in queries),
        notes=(
            *collection.notes,
            f"split={half}: {len(queries)} of {len(collection.queries)} queries, {len(needs)} of {len(every)} needs",
        ),
    )
