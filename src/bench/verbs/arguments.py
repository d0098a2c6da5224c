"""The words behind a verb, read by argparse and answered as the rest of the program answers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from bench.errors import BenchError, did_you_mean
from bench.grid import MEASURE_COLUMNS
from bench.measure import LARGEST_K, Measure, is_absurd
from bench.metrics import parse


class Arguments(argparse.ArgumentParser):
    """Options of a verb: what is not known gets the nearest right name, and every mistake is a BenchError.

    `about` says what the verb does and `examples` how it is called; both stand in its --help.
    """

    def __init__(self, verb: str, *, about: str, examples: str) -> None:
        super().__init__(
            prog=f"python -m bench {verb}",
            description=about,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.verb = verb

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The options that the words give; with --help it prints and leaves with exit code 0."""
        found, unknown = self.parse_known_args(words)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            near = did_you_mean(unknown[0].split("=")[0], options) if unknown[0].startswith("-") else ""
            self.error(f"'{unknown[0]}' is no option of it{near}")
        return found

    def error(self, message: str) -> NoReturn:
        """Refuse the words."""
        raise BenchError(f"{self.verb}: {message} (python -m bench {self.verb} --help)")


def whole_numbers(text: str) -> tuple[int, ...]:
    """`1,3,5` or `[1,3,5]` as rising numbers from 1, each once."""
    words = [word.strip() for word in text.strip("[] ").split(",")]
    if not all(re.fullmatch(r"0*[1-9][0-9]*", word) for word in words):
        raise argparse.ArgumentTypeError(f"'{text}' is not a row of whole numbers from 1, as 1,3,5")
    for word in words:
        if is_absurd(word):
            raise argparse.ArgumentTypeError(f"{word[:20]} is more than {LARGEST_K:,}, the largest there is")
    return tuple(sorted({int(word) for word in words}))


def names(text: str) -> tuple[str, ...]:
    """The words of a row parted by commas; a comma inside brackets parts nothing."""
    found = [word.strip() for word in re.findall(r"(?:[^,(]|\([^)]*\)?)+", text)]
    if not any(found):
        raise argparse.ArgumentTypeError(f"'{text}' names nothing")
    return tuple(word for word in found if word)


def kept_measure(text: str) -> tuple[Measure, int | None]:
    """The measure and cut-off of a name; BenchError where a folder keeps no values of it."""
    measure, k = parse(text)
    if measure.key not in MEASURE_COLUMNS:
        raise BenchError(
            f"{measure} is not kept query by query; to score stored runs by it: python -m bench evaluate "
            f"--run FOLDER --qrels FILE --measures '{text}'"
        )
    return measure, k


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number between 0 and 1")
    return value
