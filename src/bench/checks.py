"""What can be said of a collection before any system runs on it: what is odd about it."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from bench.collection import Collection
from bench.errors import listing
from bench.metrics import STEEPEST
from bench.qrels import RELEVANT
from bench.text.words import plain, words

NEAR = 0.8
"""Two texts that share this much of their shingles (Jaccard) are near-duplicates."""
SHINGLE = 5
"""So many words in a row."""
BOILERPLATE = 50
"""A shingle that stands in more documents than this is no sign of a duplicate."""
_SHOWN = 5

Shingles = set[tuple[str, ...]]


def findings(collection: Collection) -> Iterator[str]:
    """What a careful person would want to know of documents, queries and judgements, one a line.

    What loading has noted already (empty and repeated texts, queries without a judgement) is not said again.
    """
    texts = {doc.id: _words(doc.contents) for doc in collection.docs}
    asked = {query.id: _words(query.text) for query in collection.queries}
    contents = {doc.id: doc.contents for doc in collection.docs}
    for ids in _alike(contents):
        if len({contents[doc] for doc in ids}) > 1:
            yield f"documents that say the same but for case and blanks: {listing(sorted(ids), most=_SHOWN)}"
    for ids in _alike({query.id: query.text for query in collection.queries}):
        yield f"queries with one text: {listing(sorted(ids), most=_SHOWN)}"
    yield from _near_texts(texts, contents)
    yield from _quoted(asked, texts)
    if (collection.max_grade or max(collection.qrels.grades, default=0)) > STEEPEST:
        yield f"grades above {STEEPEST}: no value of the measures with the gain 2^g - 1, ndcg_exp and err"
    judged = collection.qrels.by_query
    nothing = [query for query, grades in judged.items() if max(grades.values()) < RELEVANT]
    if nothing:
        listed = listing(nothing, most=_SHOWN)
        yield f"{len(nothing)} queries have nothing relevant and are left out of the means: {listed}"
    for query, grades in judged.items():
        if sum(grade >= RELEVANT for grade in grades.values()) == len(collection.docs):
            yield f"query {query}: every document is relevant, so no system can be told from another on it"


def conflicts(collection: Collection) -> list[str]:
    """Equal texts with different grades for one query: whatever a system does, it is called wrong."""
    found = []
    for ids in _alike({doc.id: doc.contents for doc in collection.docs}):
        for query, grades in collection.qrels.by_query.items():
            given = {doc: grades[doc] for doc in ids if doc in grades}
            if len(set(given.values())) > 1:
                told = ", ".join(f"{doc} {grade:g}" for doc, grade in sorted(given.items()))
                found.append(f"query {query}: one text has several grades: {told}")
    return found


def _alike(texts: dict[str, str]) -> list[list[str]]:
    """The ids of texts that are one but for case, blanks and how letters are composed, where there are several."""
    same: dict[str, list[str]] = defaultdict(list)
    for name, text in texts.items():
        same[_said(text)].append(name)
    return [ids for ids in same.values() if len(ids) > 1]


def _said(text: str) -> str:
    # Signs stay: they alone tell C++ from C#. Composed again, because to fold case can take letters apart.
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def _near_texts(texts: dict[str, list[str]], contents: dict[str, str]) -> Iterator[str]:
    shingles = {name: _shingles(found) for name, found in texts.items()}
    shared: Counter[tuple[str, str]] = Counter()
    for names in _places(shingles).values():
        if len(names) <= BOILERPLATE:
            shared.update(itertools.combinations(sorted(names), 2))
    for (first, second), count in sorted(shared.items()):
        alike = count / (len(shingles[first]) + len(shingles[second]) - count)
        if alike >= NEAR and _said(contents[first]) != _said(contents[second]):
            yield f"documents nearly alike ({alike:.2f} of what is {SHINGLE} words in a row): {first}, {second}"


def _quoted(asked: dict[str, list[str]], texts: dict[str, list[str]]) -> Iterator[str]:
    # Of two or three words in a row, a keyword query, some chunk is bound to hold them.
    shortest = 4
    places = _places({name: _shingles(found, of=shortest) for name, found in texts.items()})
    for name, question in asked.items():
        if len(question) >= shortest:
            whole = f" {' '.join(question)} "
            near = places.get(tuple(question[:shortest]), ())
            if holding := [doc for doc in near if whole in f" {' '.join(texts[doc])} "]:
                yield f"query {name} stands word for word in {listing(holding, most=_SHOWN)}"


def _places(shingles: dict[str, Shingles]) -> dict[tuple[str, ...], list[str]]:
    """Which texts hold each shingle."""
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, own in shingles.items():
        for one in own:
            places[one].append(name)
    return places


def _shingles(found: Sequence[str], *, of: int = SHINGLE) -> Shingles:
    return {tuple(found[i : i + of]) for i in range(len(found) - of + 1)}


def _words(text: str) -> list[str]:
    (found,) = words([text])
    return [plain(word) for word in found]
