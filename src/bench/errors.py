"""What a user can put right, said with where it is and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BenchError(Exception):
    """Something the user can put right: the message says what is wrong, where, and what to do."""


class Unsuitable(BenchError):
    """A part cannot do what this cell asks of it; the cell is skipped, which alone is no failure."""


class Unavailable(BenchError):
    """A library, model or server that a part needs cannot be had here."""


def missing_library(library: str, *, extra: str | None = None) -> Unavailable:
    """The error for a part whose library is not installed: names the extra that brings it."""
    install = f"pip install 'bench[{extra}]'" if extra else f"pip install {library}"
    return Unavailable(f"the library {library} is not installed: {install}")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest of the choices, else the choices themselves."""
    known = sorted(set(choices))
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(known)}" if known else ""


def listing(items: Iterable[str], *, most: int = 10) -> str:
    """The first items in a row and how many more there are."""
    every = list(items)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
