"""What a user can put right, said with where it is and what to do."""

from __future__ import annotations

import difflib
import math
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


def check_whole(setting: str, value: object, *, least: int, most: int | None = None) -> None:
    """BenchError, naming the setting, unless the value is a whole number from `least`, and to `most`."""
    if type(value) is not int or value < least or (most is not None and value > most):
        raise BenchError(f"{setting}={value!r}: a whole number from {least}{f' to {most}' if most else ''}")


def check_number(
    setting: str, value: object, *, least: float = 0, most: float = math.inf, above: bool = False
) -> None:
    """BenchError, naming the setting, unless the value is a finite number from `least` (or above it) to `most`."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and least <= number <= most) or (above and number == least):
        to = "" if most == math.inf else f" to {most:g}"
        raise BenchError(f"{setting}={value!r}: a number {'above' if above else 'from'} {least:g}{to}")


def check_one_of(setting: str, value: object, allowed: Iterable[str]) -> None:
    """BenchError, naming the setting, unless the value is one of these words."""
    known = list(allowed)
    if value not in known:
        raise BenchError(f"{setting}={value!r}: one of {', '.join(known)}")


def check_flag(setting: str, value: object) -> None:
    """BenchError, naming the setting, unless the value is true or false."""
    if not isinstance(value, bool):
        raise BenchError(f"{setting}={value!r}: true or false")
