"""Files read line by line: numbered, decoded, and everything wrong with them gathered before it is told."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import mmap
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import BenchError

MOST_SHOWN = 20
Content = bytes | mmap.mmap
GZIP = b"\x1f\x8b"


@dataclass
class Problems:
    """What is wrong with some files, gathered so that all of it is told at once."""

    found: list[tuple[Path, int, str]] = field(default_factory=list)
    """File, line (from 1; 0: of the whole file) and what is wrong."""

    def add(self, path: Path, line: int, problem: str) -> None:
        """Note a problem of a line (from 1; 0: of the whole file)."""
        self.found.append((path, line, problem))

    def __bool__(self) -> bool:
        return bool(self.found)

    def raise_any(self, what: str, *, hint: str = "") -> None:
        """One error for all of them, file by file in the order of their lines, with a hint at its end."""
        if not self.found:
            return
        files = list(dict.fromkeys(path for path, _, _ in self.found))
        ordered = sorted(self.found, key=lambda one: (files.index(one[0]), one[1]))
        shown = [f"{path}:{line}: {said}" if line else f"{path}: {said}" for path, line, said in ordered]
        more = [f"and {len(shown) - MOST_SHOWN} more"] if len(shown) > MOST_SHOWN else []
        count = "a problem" if len(shown) == 1 else f"{len(shown)} problems"
        listed = "\n  ".join(shown[:MOST_SHOWN] + more)
        raise BenchError(f"{what} has {count}:\n  {listed}" + (hint and f"\n{hint}"))


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
                    problems.add(path, number, not_utf8(error))
                    continue
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        problems.add(path, 0, f"cannot be read to its end: {error}")


def content(path: Path, problems: Problems) -> Content:
    """All that a file holds, unpacked where it is gzipped, whatever its name says; empty with a problem."""
    try:
        with path.open("rb") as stream:
            # Mapped, not read, because a copy of a large file takes as long as much of the work on it.
            whole = path.is_file() and path.stat().st_size
            packed = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if whole else stream.read()
        return gzip.decompress(packed[:]) if packed[:2] == GZIP or path.suffix == ".gz" else packed
    except (OSError, EOFError, zlib.error) as error:
        problems.add(path, 0, f"cannot be read to its end: {error}")
        return b""


def plain(data: Content) -> Content:
    """A text in UTF-8 without byte-order mark, each line ended by a line feed; UTF-16 is known by its mark."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        with contextlib.suppress(UnicodeDecodeError):
            data = data[:].decode("utf-16").encode("utf-8", "surrogatepass")
    if data[:3] == codecs.BOM_UTF8:
        data = data[3:]
    if data.find(b"\r") >= 0:
        data = data[:].replace(b"\r\n", b"\n") if data.find(b"\n") >= 0 else data[:].replace(b"\r", b"\n")
    return data


def numbered(data: Content, path: Path, problems: Problems, *, start: int = 1) -> Iterator[tuple[int, str]]:
    """Numbered lines, that are not blank, of a text as `plain` gives it, whose first has the number `start`."""
    try:
        yield from _filled(data[:].decode("utf-8").split("\n"), start)
        return
    except UnicodeDecodeError:
        raws = data[:].split(b"\n")
    for number, raw in enumerate(raws, start):
        try:
            yield from _filled([raw.decode("utf-8")], number)
        except UnicodeDecodeError as error:
            problems.add(path, number, not_utf8(error))


def not_utf8(error: UnicodeDecodeError) -> str:
    """What is wrong with a line of bytes in another encoding, and what to do."""
    return (
        f"not UTF-8: {error.reason} at byte {error.start}; save the file as UTF-8 (iconv -f LATIN1 -t UTF-8)"
    )


def rows(
    path: Path, header: tuple[str, ...], problems: Problems, *, blank: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a tab-separated file with as many columns as the header, which may be missing.

    The column `blank` may be empty.
    """
    for number, line in lines(path, problems):
        fields = [text.strip() for text in line.split("\t")]
        if tuple(fields) == header:
            continue
        if len(fields) != len(header):
            wanted = f"{len(header)} columns separated by tabs ({', '.join(header)})"
            problems.add(path, number, f"{len(fields)} columns, not {wanted}")
        elif empty := [name for name, text in zip(header, fields, strict=True) if not text and name != blank]:
            problems.add(path, number, f"no {empty[0]}")
        else:
            yield number, fields


def _filled(lines: Iterable[str], start: int) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start) if line and not line.isspace())
