"""Words as they stand in a text, and the same word however it was typed."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence

LETTERS = re.compile(r"[^\W\d_]+")
"""Letters in a row: what people take for a word when they type it."""

_INVISIBLE = frozenset({"Mn", "Mc", "Me", "Cf"})
_MARKED_LETTER = re.compile("([A-Za-z])[\u0300-\u036f]+")


def words(texts: Sequence[str]) -> Iterator[list[str]]:
    """The words of each text, composed (NFC): letters, digits and `_`, with what stands invisibly inside.

    Marks (an accent that no letter is composed with) and format characters (soft hyphen, zero width space,
    byte order mark) do not end a word: the reader sees one word there.
    """
    find = _pattern().findall
    return (find(unicodedata.normalize("NFC", text)) for text in texts)


def plain(word: str) -> str:
    """The word in lower case, composed, without format characters."""
    if word.isascii():
        return word.lower()
    visible = "".join(char for char in word if unicodedata.category(char) != "Cf")
    # Composed once more: there is no composed J̌, but there is a ǰ.
    return unicodedata.normalize("NFC", visible.lower())


def folded(word: str) -> str:
    """A plain word without the marks on its Latin letters, but for the tilde of ñ: año is not ano."""
    return word if word.isascii() else unmarked(word)


def unmarked(text: str) -> str:
    """A text, composed, without the marks on its Latin letters, large or small, but for the tilde of ñ."""
    return unicodedata.normalize("NFC", _MARKED_LETTER.sub(_bare, unicodedata.normalize("NFD", text)))


def _bare(letter: re.Match[str]) -> str:
    return letter[1] + ("\u0303" if letter[1] in "nN" and "\u0303" in letter[0] else "")


@functools.cache
def _pattern() -> re.Pattern[str]:
    # Python's \w knows no marks and its re no Unicode categories, so they are spelt out; with characters
    # beyond the first plane (scripts of history) such a class takes four times as long.
    inside = "".join(char for char in map(chr, range(0x10000)) if unicodedata.category(char) in _INVISIBLE)
    return re.compile(rf"\w[\w{inside}]*")
