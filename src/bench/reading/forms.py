"""The forms of judgements and hits in columns of text, and which of them a text has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from bench.lines import Content, Problems, numbered
from bench.reading.pairs import DOC_NAMES, HITS, JUDGEMENTS, QUERY_NAMES, Kind, name, number

LOOKED_AT = 1 << 13
"""How many bytes of a file are looked at to find out its form."""


@dataclass(frozen=True)
class Form:
    """Which columns a text has, and where among them are query, document and value."""

    kind: Kind
    columns: tuple[str, ...]
    query: int
    doc: int
    value: int
    rank: int | None = None
    tabs: bool = False
    """Separated by single tabs alone; otherwise by blanks and tabs, as many as there are."""
    open_end: bool = False
    """The last column may hold blanks."""
    headed: bool = False
    """Its first line names the columns."""

    def fields(self, line: str) -> list[str]:
        """The fields of a line: by single tabs or blanks where these make a whole line, else by runs of both."""
        line = line.strip("\r")
        single = line.split("\t" if self.tabs or "\t" in line else " ")
        if " " in line:
            single = [text.strip(" ") for text in single]
        if self.is_whole(single):
            return single
        if self.tabs:
            extra = len(single) - len(self.columns)
            return single[: len(self.columns)] if extra > 0 and not any(single[-extra:]) else single
        words = [word for word in line.replace("\t", " ").split(" ") if word]
        last = len(self.columns) - 1
        return [*words[:last], " ".join(words[last:])] if self.open_end and len(words) > last else words

    def is_whole(self, fields: list[str]) -> bool:
        """Whether these are the fields of a well-formed line."""
        right = len(fields) == len(self.columns) and self.missing(fields) is None
        return right and not math.isnan(number(fields[self.value]))

    @property
    def needed(self) -> tuple[int, ...]:
        """The columns that must hold something, ascending."""
        if self.tabs:
            return tuple(sorted((self.query, self.doc, self.value)))
        return tuple(range(len(self.columns) - self.open_end))

    def missing(self, fields: list[str]) -> str | None:
        """The first column that must hold something and is empty here."""
        if "" not in fields:
            return None
        return next((self.columns[at] for at in self.needed if not fields[at]), None)

    def fits(self, line: str) -> bool:
        """Whether the line is well-formed in this form."""
        return self.is_whole(self.fields(line))

    def passes_over(self, line: str) -> bool:
        """Whether a line is a comment. Where tabs make the columns an id may begin with # too."""
        return line.lstrip(" \t").startswith("#") and not (self.tabs and self.fits(line))

    def heads(self, fields: list[str]) -> bool:
        """Whether the fields are names of columns in this order."""
        query, doc, value = name(fields[self.query]), name(fields[self.doc]), name(fields[self.value])
        return query in QUERY_NAMES and doc in DOC_NAMES and value in self.kind.value_names

    def __str__(self) -> str:
        if self.tabs:
            return f"{len(self.columns)} columns separated by tabs ({', '.join(self.columns)})"
        return f"{len(self.columns)} columns ({' '.join(self.columns)})"


BEIR_QRELS = Form(JUDGEMENTS, ("query-id", "corpus-id", "score"), 0, 1, 2, tabs=True)
TREC_QRELS = Form(JUDGEMENTS, ("query", "iteration", "document", "grade"), 0, 2, 3)
TREC_RUN = Form(HITS, ("query", "Q0", "document", "rank", "score", "tag"), 0, 2, 4, rank=3, open_end=True)
FORMS = (BEIR_QRELS, TREC_QRELS, TREC_RUN)


def form_of(data: Content, path: Path, kind: Kind, problems: Problems) -> Form | None:
    """The form of a text as `lines.plain` gives it; None where it holds nothing, or with a problem."""
    forms = [form for form in FORMS if form.kind == kind]
    lines = _first_lines(data, path, forms)
    if not lines:
        for _ in numbered(data, path, problems):  # where no line can be read, that is what is wrong
            pass
        return None
    form = _headed(lines[0], kind) or _fitting(lines, forms) or _counted(lines, forms)
    if form is None:
        others = [form for form in FORMS if form.kind != kind and any(form.fits(line) for line in lines)]
        found = f"its lines are like '{lines[0][:80]}'"
        if others:
            found = f"it holds {others[0].kind.noun}s ({others[0]})"
        problems.add(path, 0, f"{found}; {kind.read}")
    return form


def _first_lines(data: Content, path: Path, forms: list[Form]) -> list[str]:
    """The first lines that are no comments; of a large file those of its beginning, if there are any."""
    for size in (LOOKED_AT, len(data)):
        end = len(data) if size >= len(data) else data.rfind(b"\n", 0, size) + 1 or size
        lines = [line for _, line in numbered(data[:end], path, Problems())]
        kept = [line for line in lines if not all(form.passes_over(line) for form in forms)]
        if kept:
            return kept
    return []


def _fitting(lines: list[str], forms: list[Form]) -> Form | None:
    """The form that fits most lines, the earlier of two.

    A query, 0 and a document between tabs and blanks are columns of TREC and not an id of BEIR with a blank.
    """
    iterations = {tuple(line.split()[1:2]) for line in lines}
    if (
        TREC_QRELS in forms
        and iterations <= {("0",), ("Q0",)}
        and all(TREC_QRELS.fits(line) for line in lines)
    ):
        return TREC_QRELS
    count, form = max(((sum(map(form.fits, lines)), form) for form in forms), key=lambda one: one[0])
    return form if count else None


def _counted(lines: list[str], forms: list[Form]) -> Form | None:
    """The form whose number of columns all lines have, though no line is well-formed."""
    for form in forms:
        if all(len(line.split("\t" if form.tabs else None)) == len(form.columns) for line in lines):
            return form
    return None


def _headed(line: str, kind: Kind) -> Form | None:
    """The form that a first line of names says, whatever the order of the columns."""
    for tabs, names in ((True, line.rstrip().split("\t")), (False, line.split())):
        known = [name(one) for one in names]
        places = [
            next((known.index(one) for one in choices if one in known), -1)
            for choices in (QUERY_NAMES, DOC_NAMES, kind.value_names)
        ]
        if -1 not in places:
            query, doc, value = places
            rank = known.index("rank") if "rank" in known else None
            columns = tuple(one.strip() for one in names)
            return Form(kind, columns, query, doc, value, rank=rank, tabs=tabs, headed=True)
    return None
