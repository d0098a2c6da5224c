"""What is odd about the pairs of a file and yet allowed, said and counted."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.errors import listing
from bench.reading.pairs import Pairs

MISSING = ("None", "none", "null", "NULL", "nan", "NaN", "NA", "<NA>")
"""What programs write for an id that they do not have."""


def odd_ids(pairs: Pairs) -> Iterator[str]:
    """Notes on ids that look as if they were meant otherwise."""
    for kind, ids in (("query", pairs.query.dictionary), ("document", pairs.doc.dictionary)):
        alike = _alike(ids)
        if alike:
            yield (
                f"{len(alike)} {kind} ids differ from another only in Unicode form (NFC, NFD): "
                f"{listing(alike, most=3)}; they count as different"
            )
        absent = ids.filter(pc.is_in(ids, value_set=pa.array(MISSING))).to_pylist()
        if absent:
            yield f"a {kind} id is {listing(map(repr, absent))}, which may stand for a missing one"
        hashed = ids.filter(pc.starts_with(ids, "#"))
        if len(hashed):
            yield f"{len(hashed)} {kind} ids begin with #, as comments do: '{hashed[0]}'; they were read as ids"
        padded = ids.filter(pc.not_equal(ids, pc.utf8_trim_whitespace(ids)))
        if len(padded):
            yield f"{len(padded)} {kind} ids have blanks around them, as '{padded[0]}'; they belong to the id"


def misjudged_ranks(pairs: Pairs) -> Iterator[str]:
    """Notes on a rank column that says another order than the scores, which alone order a ranking."""
    if pairs.rank is None:
        return
    strange = int(np.isnan(pairs.rank).sum())
    if strange:
        yield f"{strange} ranks are no numbers; they were not looked at"
    wrong = _in_another_order(pairs)
    if wrong:
        every = len(pairs.query.dictionary)
        yield f"the ranks of {wrong} of {every} queries disagree with their scores; scores order a ranking"


def differing_in_form(ids: pa.Array, others: pa.Array) -> tuple[str, ...]:
    """The ids that the others have in another Unicode form only (NFC, NFD)."""
    theirs = set(_foreign(others))
    composed = {unicodedata.normalize("NFC", one) for one in theirs}
    mine = [one for one in _foreign(ids) if one not in theirs]
    return tuple(one for one in mine if unicodedata.normalize("NFC", one) in composed)


def _foreign(ids: pa.Array) -> list[str]:
    return list(ids.filter(pc.invert(pc.string_is_ascii(ids))).to_pylist())


def _alike(ids: pa.Array) -> list[str]:
    composed = {one: unicodedata.normalize("NFC", one) for one in _foreign(ids)}
    counts = Counter(composed.values())
    return [one for one, form in composed.items() if counts[form] > 1]


def _in_another_order(pairs: Pairs) -> int:
    """How many queries have a pair that ranks above one with a higher score."""
    rank = pairs.rank
    if rank is None:
        return 0
    query, value = np.asarray(pairs.query.indices), pairs.value
    same = query[1:] == query[:-1]
    grouped = len(query) - int(same.sum()) == len(pairs.query.dictionary)
    falling = (rank[1:] > rank[:-1]) & (value[1:] <= value[:-1])
    if grouped and bool((falling | ~same).all()):
        return 0
    table = pa.table({"query": query, "rank": rank, "value": value}).filter(pa.array(~np.isnan(rank)))
    table = table.sort_by([("query", "ascending"), ("rank", "ascending"), ("value", "descending")])
    query, value = table["query"].to_numpy(), table["value"].to_numpy()
    return len(np.unique(query[1:][(query[1:] == query[:-1]) & (value[1:] > value[:-1])]))
