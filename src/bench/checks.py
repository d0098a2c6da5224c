"""What can be said of a collection before any system runs on it: what is odd, and what a score can reach."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bench.collection import Collection
from bench.gains import EMPTY, RELEVANT, Gains
from bench.join import join
from bench.metrics import MEASURES
from bench.runs import Run

NEAR = 0.8
"""Two texts that share this much of their runs of five words (Jaccard) are near-duplicates."""
RUN = 5


def findings(collection: Collection, *, ks: Sequence[int]) -> Iterator[str]:
    """What a careful person would want to know of the documents, queries and judgements, one a line."""
    yield from _equal_texts(collection)
    yield from _near_texts(collection)
    yield from _quoted(collection)
    judged = collection.qrels.by_query
    empty = [query.id for query in collection.queries if query.id not in judged]
    if empty:
        yield f"{len(empty)} queries are not judged: {_first(empty)}"
    nothing = [query for query, grades in judged.items() if max(grades.values()) < 1]
    if nothing:
        yield f"{len(nothing)} queries have nothing relevant and are left out of the means: {_first(nothing)}"
    for query, grades in judged.items():
        if sum(grade >= 1 for grade in grades.values()) == len(collection.docs):
            yield f"query {query}: every document is relevant, so no system can be told from another on it"
    for k in ks:
        if k > len(collection.docs):
            yield f"k={k} is more than the {len(collection.docs)} documents there are"


def conflicts(collection: Collection) -> list[str]:
    """Equal texts with different grades for one query: whatever a system does, it is called wrong."""
    same = defaultdict(list)
    for doc in collection.docs:
        same[_plain(doc.contents)].append(doc.id)
    found = []
    for ids in same.values():
        for query, grades in collection.qrels.by_query.items() if len(ids) > 1 else ():
            given = {doc: grades[doc] for doc in ids if doc in grades}
            if len(set(given.values())) > 1:
                told = ", ".join(f"{doc} {grade:g}" for doc, grade in sorted(given.items()))
                found.append(f"query {query}: one text has several grades: {told}")
    return found


def reach(collection: Collection, *, ks: Sequence[int]) -> dict[tuple[str, int], tuple[float, float]]:
    """By lens and k: the highest mean that any ranking reaches, and what a random one has in expectation.

    The oracle ranks all judged documents by grade. The expectation is exact: every order of the whole corpus
    alike, everything unjudged irrelevant.
    """
    qrels = collection.qrels
    gains = join(_nothing(collection), qrels)
    relevant = gains.total() > 0
    best = Gains(
        np.maximum(gains.ideal, 0)[relevant],
        np.where(gains.ideal >= 1, RELEVANT, EMPTY).astype(np.int8)[relevant],
        gains.ideal[relevant],
    )
    return {
        (name, k): (
            float(MEASURES[name](best, k).mean()),
            float(_expected(best, len(collection.docs), k)[name].mean()),
        )
        for name in ("precision", "recall", "mrr", "ndcg")
        for k in ks
    }


def _expected(gains: Gains, documents: int, k: int) -> Mapping[str, np.ndarray]:
    """The expectation of each lens for a ranking drawn at random, [q]."""
    total = gains.total()
    ranks = np.arange(1, min(k, documents) + 1)
    # P(first relevant at rank r) = P(none in r - 1) * R / (N - r + 1), by sampling without replacement.
    none = np.ones(len(total))
    reciprocal = np.zeros(len(total))
    for rank in ranks:
        hit = total / (documents - rank + 1)
        reciprocal += none * np.minimum(hit, 1) / rank
        none *= 1 - np.minimum(hit, 1)
    discounts = (1 / np.log2(ranks + 1)).sum()
    ideal = np.maximum(gains.ideal, 0)
    cut = ideal[:, :k]
    best = cut @ (1 / np.log2(np.arange(2, cut.shape[1] + 2)))
    return {
        "precision": total * len(ranks) / documents / k,
        "recall": np.full(len(total), len(ranks) / documents),
        "mrr": reciprocal,
        "ndcg": ideal.sum(axis=1) / documents * discounts / best,
    }


def _nothing(collection: Collection) -> Run:
    """A run that answers no query."""
    shape = (len(collection.queries), 1)
    return Run(collection.query_ids, collection.doc_ids, np.full(shape, -1, np.int32), np.zeros(shape))


def _equal_texts(collection: Collection) -> Iterator[str]:
    for kind, items in (
        ("documents", [(d.id, d.contents) for d in collection.docs]),
        ("queries", _asked(collection)),
    ):
        same = defaultdict(list)
        for name, text in items:
            same[_plain(text)].append(name)
        for ids in same.values():
            if len(ids) > 1:
                yield f"{kind} with one text: {_first(sorted(ids))}"


def _near_texts(collection: Collection) -> Iterator[str]:
    runs: dict[str, set[tuple[str, ...]]] = {}
    for doc in collection.docs:
        words = _plain(doc.contents).split()
        runs[doc.id] = {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}
    places = defaultdict(list)
    for name, own in runs.items():
        for one in own:
            places[one].append(name)
    shared: Counter[tuple[str, str]] = Counter()
    for names in places.values():
        if len(names) <= 50:  # a run of words that stands in more is boilerplate, no sign of a duplicate
            shared.update(itertools.combinations(sorted(names), 2))
    for (first, second), count in sorted(shared.items()):
        union = len(runs[first]) + len(runs[second]) - count
        if runs[first] != runs[second] and count / union >= NEAR:
            yield f"documents nearly alike ({count / union:.2f} of their runs of {RUN} words): {first}, {second}"


def _quoted(collection: Collection) -> Iterator[str]:
    texts = [(doc.id, f" {_plain(doc.contents)} ") for doc in collection.docs]
    for name, text in _asked(collection):
        words = _plain(text)
        # Of two or three words in a row, a keyword query, some chunk is bound to hold them.
        if len(words.split()) > 3:
            holding = [doc for doc, contents in texts if f" {words} " in contents]
            if holding:
                yield f"query {name} stands word for word in {_first(holding)}"


def _asked(collection: Collection) -> list[tuple[str, str]]:
    return [(query.id, query.text) for query in collection.queries]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _first(ids: Sequence[str], *, most: int = 5) -> str:
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")
