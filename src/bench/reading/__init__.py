"""Judgements and runs from files that anybody wrote, whatever their form; nothing is left out without a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from bench.errors import BenchError
from bench.ids import Ids
from bench.lines import Content, Problems, content, plain
from bench.qrels import Qrels
from bench.reading.columns import careful_pairs, quick_pairs
from bench.reading.forms import form_of
from bench.reading.json import json_pairs
from bench.reading.oddities import misjudged_ranks, odd_ids
from bench.reading.pairs import HITS, JUDGEMENTS, Kind, Pairs
from bench.reading.parquet import parquet_pairs
from bench.reading.repetitions import without_conflicts, without_repetitions
from bench.runs import Run

DUPLICATES = ("refuse", "keep-first")
MAGIC = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstandard archive",
    b"ARROW1": "an Arrow file",
    b"\x89HDF": "an HDF5 file",
    b"SQLite": "a SQLite database",
    b"%PDF": "a PDF",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
}


@dataclass(frozen=True, eq=False)
class ReadQrels:
    """Judgements as a file gives them."""

    qrels: Qrels
    notes: tuple[str, ...]
    """What was odd about the file or was left out of it, counted."""


@dataclass(frozen=True, eq=False)
class ReadRun:
    """A run as a file gives it."""

    table: pa.Table
    """One row a hit in the order of the file: query_id, doc_id (strings, dictionary-encoded), score (float64)."""
    notes: tuple[str, ...]
    """What was odd about the file or was left out of it, counted."""

    @cached_property
    def run(self) -> Run:
        """The rankings over the file's own queries, ascending, and documents."""
        query, doc = (self.table[column].chunk(0).dictionary for column in ("query_id", "doc_id"))
        return Run.from_table(self.table, queries=tuple(sorted(query.to_pylist())), docs=Ids(doc))


def read_qrels(path: str | Path) -> ReadQrels:
    """Judgements in the form of TREC, BEIR, JSON or Parquet, gzipped or not; the form is told by the content.

    Grades are kept as given, fractions too. A pair that is judged twice alike counts once and is noted; two grades
    for one pair are an error, as are broken lines, missing ids and grades that are no finite number. BenchError
    lists all of it, each with its line.
    """
    file, problems = Path(path), Problems()
    pairs = without_conflicts(_pairs(file, JUDGEMENTS, problems), file, problems)
    problems.raise_any(f"judgements {file}")
    qrels = Qrels.of_columns(pairs.query, pairs.doc, pairs.value)
    return ReadQrels(qrels, (*pairs.notes, *odd_ids(pairs)))


def read_run(path: str | Path, *, duplicates: str = "refuse") -> ReadRun:
    """A run in the form of TREC, JSON or Parquet (ours too), gzipped or not; the form is told by the content.

    Scores are kept as given and alone order a ranking; ranks that disagree with them are noted. ±inf are scores,
    NaN is none. A document that stands twice in a ranking is an error, or with `duplicates="keep-first"` all but
    its first hit in the file are left out and counted. BenchError lists all that is wrong, each with its line.
    """
    if duplicates not in DUPLICATES:
        raise BenchError(f"duplicates='{duplicates}': it can be {' or '.join(DUPLICATES)}")
    file, problems = Path(path), Problems()
    pairs = _pairs(file, HITS, problems)
    hint = ""
    if pairs.repeated:
        keep_first = duplicates == "keep-first"
        pairs = without_repetitions(pairs, file, problems, keep_first=keep_first)
        hint = (
            "Of documents that stand twice, --duplicates keep-first (in Python, duplicates='keep-first') keeps the "
            "first and counts the others."
        )
    problems.raise_any(f"run {file}", hint=hint)
    table = pa.table({"query_id": pairs.query, "doc_id": pairs.in_tie_order(), "score": pairs.value})
    return ReadRun(table, (*pairs.notes, *odd_ids(pairs), *misjudged_ranks(pairs)))


def read_hits(path: str | Path) -> pa.Table:
    """The hits of a run file as they stand there, repeated ones too: query_id, doc_id (strings), score (float64).

    The forms are those of `read_run`; BenchError lists all that is wrong, each with its line.
    """
    file, problems = Path(path), Problems()
    pairs = _pairs(file, HITS, problems)
    problems.raise_any(f"run {file}")
    query, doc = (ids.cast(pa.string()) for ids in (pairs.query, pairs.doc))
    return pa.table({"query_id": query, "doc_id": doc, "score": pairs.value})


def _pairs(path: Path, kind: Kind, problems: Problems) -> Pairs:
    """The pairs of a file as they stand there; none, or not all, where there are problems."""
    if path.is_dir():
        raise BenchError(f"{path} is a folder, not a file; {kind.read}")
    if not path.exists():
        raise BenchError(f"there is no file {path}")
    data = content(path, problems)
    if problems:
        return Pairs.none()
    if data[:4] == b"PAR1":
        pairs = parquet_pairs(data, path, kind, problems)
    else:
        pairs = _of_text(data, path, kind, problems)
    if not len(pairs) and not problems:
        problems.add(path, 0, f"it holds no {kind.noun}; {kind.read}")
    return pairs


def _of_text(data: Content, path: Path, kind: Kind, problems: Problems) -> Pairs:
    text = plain(data)
    archive = next((said for start, said in MAGIC.items() if data[:8].startswith(start)), None)
    if archive is not None or text.find(b"\0", 0, 8192) >= 0:
        problems.add(path, 0, f"it is {archive or 'no text'}; {kind.read}")
        return Pairs.none()
    first = re.match(rb"\s*(\S?)", text)
    if first and first[1] in (b"{", b"["):
        return json_pairs(text, path, kind, problems)
    form = form_of(text, path, kind, problems)
    if form is None:
        return Pairs.none()
    quick = quick_pairs(text, form)
    return quick if quick is not None else careful_pairs(text, path, form, problems)
