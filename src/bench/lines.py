"""Files read line by line: numbered, decoded, and everything wrong with them gathered before it is told."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import BenchError

MOST_SHOWN = 20


@dataclass
class Problems:
    """What is wrong with some files, gathered so that all of it is told at once."""

    found: list[str] = field(default_factory=list)

    def add(self, path: Path, line: int, problem: str) -> None:
        """Note a problem of a line (from 1; 0: of the whole file)."""
        self.found.append(f"{path}:{line}: {problem}" if line else f"{path}: {problem}")

    def __bool__(self) -> bool:
        return bool(self.found)

    def raise_any(self, what: str) -> None:
        """One error for all of them."""
        if self.found:
            more = len(self.found) - MOST_SHOWN
            shown = self.found[:MOST_SHOWN] + ([f"and {more} more"] if more > 0 else [])
            count = "a problem" if len(self.found) == 1 else f"{len(self.found)} problems"
            raise BenchError(f"{what} has {count}:\n  " + "\n  ".join(shown))


def existing(folder: Path, name: str, problems: Problems) -> Path | None:
    """The file of this name, plain or gzipped; a problem where there is neither."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    problems.add(folder / name, 0, "the file is missing (it may also end in .gz)")
    return None


def lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank, without byte-order mark or line end."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    problems.add(path, number, f"not UTF-8: {error.reason} at byte {error.start}")
                    continue
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        problems.add(path, 0, f"cannot be read to its end: {error}")


def rows(path: Path, header: tuple[str, ...], problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """The rows of a tab-separated file with as many columns as the header, which may be missing."""
    for number, line in lines(path, problems):
        fields = [text.strip() for text in line.split("\t")]
        if tuple(fields) == header:
            continue
        if len(fields) != len(header):
            wanted = f"{len(header)} columns separated by tabs ({', '.join(header)})"
            problems.add(path, number, f"{len(fields)} columns, not {wanted}")
        elif "" in fields:
            problems.add(path, number, f"no {header[fields.index('')]}")
        else:
            yield number, fields
