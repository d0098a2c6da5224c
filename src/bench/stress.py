"""Stress sets: a collection's own questions as people really type them, and what that costs a system."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import unicodedata
from collections.abc import Callable

from bench.collection import Collection
from bench.errors import BenchError, did_you_mean
from bench.text.address import ADDRESSES, address_of, readdressed
from bench.text.analyzer import STOP_WORDS
from bench.text.language import detect
from bench.text.words import folded, plain

TYPO_EVERY = 8
"""A letter that may be mistyped is so once in this many times."""

_WORD = re.compile(r"[^\W\d_]+")
_MARKED = re.compile("([A-Za-z])[\u0300-\u036f]+")
_KEYS = ("qwertyuiop", "asdfghjklñ", "zxcvbnm")
# Each row of keys begins further to the right, in widths of a key.
_INDENT = (0.0, 0.25, 0.75)


def stressed(collection: Collection, stress: str, *, language: str | None) -> Collection:
    """The collection with its questions under a stress, named `<name>~<stress>`; `none` changes nothing.

    A question is changed in the same way wherever and whenever it is asked. `language` is that of the
    collection, for the stresses that know words: no_stopwords has Spanish and English (and takes a question
    in the other language as that), tu_usted_vos Spanish alone. BenchError where the stress is unknown or does
    not know the language.
    """
    if stress == "none":
        return collection
    change = _change(stress, language, collection.name)
    queries = tuple(
        dataclasses.replace(query, text=change(unicodedata.normalize("NFC", query.text)))
        for query in collection.queries
    )
    changed = sum(a.text != b.text for a, b in zip(queries, collection.queries, strict=True))
    told = f"stress={stress}: {changed} of {len(queries)} questions are changed by it"
    return dataclasses.replace(
        collection, name=f"{collection.name}~{stress}", queries=queries, notes=(*collection.notes, told)
    )


def no_accents(text: str) -> str:
    """Letters without their marks, but for ñ, which is a letter of its own: dónde becomes donde."""
    return unicodedata.normalize("NFC", _MARKED.sub(_bare, unicodedata.normalize("NFD", text)))


def typos(text: str, *, seed: int = 0) -> str:
    """Letters hit beside the key, on a Spanish keyboard: about one in eight, never the first of a word.

    Words of up to three letters are left alone, and with them most codes. An accent goes with its letter.
    Seed and text decide which.
    """
    draw = random.Random(f"{seed}\t{text}").random

    def mistyped(word: re.Match[str]) -> str:
        if len(word[0]) <= 3:
            return word[0]
        return word[0][0] + "".join(_beside(letter, draw) for letter in word[0][1:])

    return _WORD.sub(mistyped, text)


def another_address(text: str) -> str:
    """The question put to tú, usted or vos, to one that it does not address now; the text decides which."""
    others = [address for address in ADDRESSES if address != address_of(text)]
    return readdressed(text, others[int(random.Random(text).random() * len(others))])


def no_stopwords(text: str, *, language: str) -> str:
    """The question without the stop words of a language; as it is where none other would be left."""
    stop = {folded(word) for word in STOP_WORDS[language]}
    bare = _WORD.sub(lambda word: "" if folded(plain(word[0])) in stop else word[0], text)
    return " ".join(bare.split()) if _WORD.search(bare) else text


def _change(stress: str, language: str | None, name: str) -> Callable[[str], str]:
    if stress not in STRESSES:
        raise BenchError(f"stress={stress}{did_you_mean(stress, ('none', *STRESSES))}")
    if stress == "no_stopwords" and language is None:
        raise BenchError(f"stress={stress}: there are no stop words for the language of {name}")
    if stress == "tu_usted_vos" and language != "spanish":
        raise BenchError(f"stress={stress} is for Spanish questions, and those of {name} are not")
    if stress == "no_stopwords":
        return lambda text: no_stopwords(text, language=detect([text]) or str(language))
    return STRESSES[stress]


def _beside(letter: str, draw: Callable[[], float]) -> str:
    key = no_accents(letter).lower()
    if key not in _NEIGHBOURS or draw() >= 1 / TYPO_EVERY:
        return letter
    hit = _NEIGHBOURS[key][int(draw() * len(_NEIGHBOURS[key]))]
    return hit.upper() if letter.isupper() else hit


def _bare(letter: re.Match[str]) -> str:
    tilde = letter[1] in "nN" and "\u0303" in letter[0]
    return letter[1] + "\u0303" if tilde else letter[1]


_PLACES = {
    key: (column + _INDENT[row], row) for row, keys in enumerate(_KEYS) for column, key in enumerate(keys)
}
_NEIGHBOURS = {
    key: [other for other, there in _PLACES.items() if 0 < math.dist(here, there) < 1.3]
    for key, here in _PLACES.items()
}
STRESSES: dict[str, Callable[..., str]] = {
    "no_accents": no_accents,
    "typos": typos,
    "upper": str.upper,
    "tu_usted_vos": another_address,
    "no_stopwords": no_stopwords,
}
"""What may be done to a text, by the name of the setting `stress`."""
