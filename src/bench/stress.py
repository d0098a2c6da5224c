"""Stress sets: a collection's own questions as people really type them, and what that costs a system."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
import re
import unicodedata
from collections.abc import Callable, Mapping

from bench.collection import Collection
from bench.errors import BenchError, Unsuitable, did_you_mean
from bench.text.address import ADDRESSES, address_of, readdressed
from bench.text.language import STOP_WORDS, detect
from bench.text.words import LETTERS, folded, plain, unmarked

TYPO_EVERY = 8
"""A letter that may be mistyped is so once in this many times."""

_KEYS = ("qwertyuiop", "asdfghjklñ", "zxcvbnm")
# Each row of keys begins further to the right, in widths of a key.
_INDENT = (0.0, 0.25, 0.75)


def stressed(collection: Collection, stress: str, *, language: str | None) -> Collection:
    """The collection with its questions under a stress, named `<name>~<stress>`; `none` changes nothing.

    A question is changed in the same way wherever and whenever it is asked. `language` is that of the
    collection, for the stresses that know words: no_stopwords has Spanish and English (and takes a question
    in the other language as that), tu_usted_vos Spanish alone. BenchError where the stress is unknown, Unsuitable
    where it does not know the language.
    """
    if stress == "none":
        return collection
    if stress not in STRESSES:
        raise BenchError(f"stress={stress}{did_you_mean(stress, ('none', *STRESSES))}")
    change = STRESSES[stress]
    queries = tuple(
        dataclasses.replace(query, text=_changed(query.text, change, language))
        for query in collection.queries
    )
    changed = sum(a.text != b.text for a, b in zip(queries, collection.queries, strict=True))
    told = f"stress={stress}: {changed} of {len(queries)} questions are changed by it"
    return dataclasses.replace(
        collection, name=f"{collection.name}~{stress}", queries=queries, notes=(*collection.notes, told)
    )


def no_accents(text: str, language: str | None = None) -> str:  # noqa: ARG001 (the same in every language)
    """Letters without their marks, but for ñ, which is a letter of its own: dónde becomes donde."""
    return unmarked(text)


def typos(text: str, language: str | None = None) -> str:  # noqa: ARG001
    """Letters hit beside the key, on a Spanish keyboard: about one in eight, never the first of a word.

    Words of up to three letters are left alone, and with them most codes. An accent goes with its letter.
    The text alone decides which: a question has the same typos in every collection and at every seed.
    """
    draw = random.Random(text).random

    def mistyped(word: re.Match[str]) -> str:
        if len(word[0]) <= 3:
            return word[0]
        return word[0][0] + "".join(_beside(letter, draw) for letter in word[0][1:])

    return LETTERS.sub(mistyped, text)


def upper(text: str, language: str | None = None) -> str:  # noqa: ARG001
    """Everything in capitals."""
    return text.upper()


def another_address(text: str, language: str | None = "spanish") -> str:
    """The question put to tú, usted or vos, to one that it does not address now; the text decides which."""
    if language != "spanish":
        raise Unsuitable("stress=tu_usted_vos is for Spanish questions, and these are not")
    others = [address for address in ADDRESSES if address != address_of(text)]
    return readdressed(text, others[int(random.Random(text).random() * len(others))])


def no_stopwords(text: str, language: str | None) -> str:
    """The question without stop words: of its own language, else of `language`; as it is where no word is left."""
    if language is None:
        raise Unsuitable("stress=no_stopwords: there are no stop words for the language of these questions")
    stop = _folded_stop_words(detect([text]) or language)
    bare = LETTERS.sub(lambda word: "" if folded(plain(word[0])) in stop else word[0], text)
    return " ".join(bare.split()) if LETTERS.search(bare) else text


def _changed(text: str, change: Callable[[str, str | None], str], language: str | None) -> str:
    """The text under a stress; as it was, and not composed, where that changes nothing."""
    composed = unicodedata.normalize("NFC", text)
    after = change(composed, language)
    return text if after == composed else after


@functools.cache
def _folded_stop_words(language: str) -> frozenset[str]:
    return frozenset(map(folded, STOP_WORDS[language]))


def _beside(letter: str, draw: Callable[[], float]) -> str:
    key = no_accents(letter).lower()
    if key not in _NEIGHBOURS or draw() >= 1 / TYPO_EVERY:
        return letter
    hit = _NEIGHBOURS[key][int(draw() * len(_NEIGHBOURS[key]))]
    return hit.upper() if letter.isupper() else hit


_PLACES = {
    key: (column + _INDENT[row], row) for row, keys in enumerate(_KEYS) for column, key in enumerate(keys)
}
_NEIGHBOURS = {
    key: [other for other, there in _PLACES.items() if 0 < math.dist(here, there) < 1.3]
    for key, here in _PLACES.items()
}
STRESSES: Mapping[str, Callable[[str, str | None], str]] = {
    "no_accents": no_accents,
    "typos": typos,
    "upper": upper,
    "tu_usted_vos": another_address,
    "no_stopwords": no_stopwords,
}
"""What may be done to a text in a language, by the name of the setting `stress`; Unsuitable where it does not suit."""
