"""Judgements and hits in JSON: `{query: {document: number}}`, or objects with named fields, in a list or one a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import listing
from bench.lines import Content, Problems, numbered
from bench.reading.pairs import DOC_NAMES, QUERY_NAMES, Kind, Pairs, name, number


class Members(list[tuple[str, Any]]):
    """The members of a JSON object as they were written, a repeated name repeated."""


@dataclass
class Columns:
    """Pairs as they are gathered from a file, with what is wrong about them."""

    path: Path
    kind: Kind
    problems: Problems
    queries: list[str] = field(default_factory=list)
    docs: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    ranks: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    unit: str = "line"
    """Whether `places` are lines or entries of a list; a place 0 is not known."""
    empty: int = 0
    """Queries that hold nothing."""
    fractions: int = 0
    """Ids that were given as 12.0."""

    def add(self, place: int, query: Any, doc: Any, value: Any, rank: Any = None) -> None:
        """One pair, or what is wrong with it."""
        query_id, doc_id = self._id(query), self._id(doc)
        real = _number(value)
        if query_id is None:
            self.problem(place, _absent(query, "query id"))
        elif doc_id is None:
            self.problem(place, _absent(doc, "document id"))
        elif math.isnan(real) or (self.kind.finite and math.isinf(real)):
            self.problem(place, f"{query_id} / {doc_id}: {_absent(value, self.kind.value)}")
        else:
            self.queries.append(query_id)
            self.docs.append(doc_id)
            self.values.append(real)
            self.ranks.append(_number(rank))
            self.places.append(place)

    def problem(self, place: int, problem: str) -> None:
        """Note what is wrong at a place."""
        if self.unit == "line":
            self.problems.add(self.path, place, problem)
        else:
            self.problems.add(self.path, 0, f"{self.unit} {place}: {problem}")

    def _id(self, given: Any) -> str | None:
        if isinstance(given, float) and given.is_integer():
            self.fractions += 1
            given = int(given)
        known = isinstance(given, (str, int)) and not isinstance(given, bool)
        return str(given) if known and str(given).strip() else None

    def pairs(self) -> Pairs:
        """What was gathered."""
        ranks = None if all(map(math.isnan, self.ranks)) else self.ranks
        notes = []
        if self.empty:
            notes.append(f"{self.empty} queries hold no {self.kind.noun}")
        if self.fractions:
            notes.append(f"{self.fractions} ids are numbers like 12.0, read as 12")
        lines = self.places if all(self.places) else None
        return Pairs.of(
            self.queries, self.docs, self.values, ranks=ranks, lines=lines, unit=self.unit, notes=notes
        )


def json_pairs(data: Content, path: Path, kind: Kind, problems: Problems) -> Pairs:
    """The pairs of a JSON or JSONL text as `lines.plain` gives it; whatever is not as it should be is a problem."""
    columns = Columns(path, kind, problems)
    for line, value in _values(data, path, problems):
        _gather(value, line, columns)
    return columns.pairs()


def _values(data: Content, path: Path, problems: Problems) -> Iterator[tuple[int, Any]]:
    """The values of the text: one over many lines (line 0), or one a line where the first line is one already."""
    lines = list(numbered(data, path, problems))
    try:
        yield 0, _parsed("\n".join(line for _, line in lines))
        return
    except json.JSONDecodeError as error:
        whole = error
    try:
        _parsed(lines[0][1])
    except json.JSONDecodeError:
        at = lines[min(whole.lineno, len(lines)) - 1][0]
        problems.add(path, at, f"not JSON: {whole.msg} at column {whole.colno}")
        return
    for at, line in lines:
        try:
            yield at, _parsed(line)
        except json.JSONDecodeError as error:
            problems.add(path, at, f"not JSON: {error.msg} at column {error.colno}")


def _gather(value: Any, place: int, columns: Columns) -> None:
    if isinstance(value, Members) and all(isinstance(inner, Members) for _, inner in value):
        for query, docs in value:
            columns.empty += not docs
            for doc, given in docs:
                columns.add(place, query, doc, given)
    elif isinstance(value, Members):
        _gather_record(value, place, columns)
    elif isinstance(value, list) and not place:
        columns.unit = "entry"
        for at, entry in enumerate(value, 1):
            _gather(entry, at, columns)
    else:
        columns.problem(place, f"{_shown(value)} is no object; {columns.kind.read}")


def _gather_record(record: Members, place: int, columns: Columns) -> None:
    named = {name(key): value for key, value in record}
    query, doc, value = (
        next((one for one in names if one in named), None)
        for names in (QUERY_NAMES, DOC_NAMES, columns.kind.value_names)
    )
    if query is None or doc is None or value is None:
        given = listing((key for key, _ in record), most=5)
        columns.problem(place, f"an object with {given}; {columns.kind.read}")
        return
    columns.add(place, named[query], named[doc], named[value], named.get("rank"))


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=Members)
        if r"\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError as error:
        raise json.JSONDecodeError("half of a surrogate pair, which is no character,", text, 0) from error
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), text, 0) from error
    return value


def _absent(value: Any, what: str) -> str:
    return f"no {what}" if value is None else f"{_shown(value)} is no {what}"


def _number(value: Any) -> float:
    if isinstance(value, str):
        return number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
