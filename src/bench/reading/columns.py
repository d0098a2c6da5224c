"""Judgements and hits in columns of text: TREC's forms and BEIR's, as clean or as messy as files are.

What is plainly well-formed is read by Arrow, a million lines in a fraction of a second. Where that finds anything
odd the file is read again, and what stands around the odd line is read line by line, each with its number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.lines import Content, Problems, numbered
from bench.reading.forms import Form
from bench.reading.pairs import Kind, Pairs, number

BLOCK = 1 << 20
"""How many bytes, at the least, are read line by line where one of their lines is odd."""


def quick_pairs(data: Content, form: Form) -> Pairs | None:
    """The pairs of a text whose every line is well-formed, each pair once; None where anything is odd."""
    if data.find(b"\0") >= 0 or data.find(b"\r") >= 0 or not _is_utf8(data):
        return None
    body = pa.py_buffer(data)[data.find(b"\n") + 1 if form.headed else 0 :]
    pairs = _quickly(body, form, tabs=data.find(b"\t") >= 0, blanks=data.find(b" ") >= 0)
    return None if pairs is None or pairs.repeated else pairs


def careful_pairs(data: Content, path: Path, form: Form, problems: Problems) -> Pairs:
    """The pairs of a text with their lines; every line that is broken is a problem.

    What is well-formed for a while is still read by Arrow, so that one odd line of a million costs little.
    """
    parts, comments, start, line = [], 0, 0, 1
    while start < len(data):
        end = data.find(b"\n", start + BLOCK) + 1 or len(data)
        block = data[start:end]
        count = block.count(b"\n") + (not block.endswith(b"\n"))
        plain = b"\0" not in block and b"\r" not in block and _is_utf8(block)
        quick = (
            _quickly(pa.py_buffer(block), form, tabs=b"\t" in block, blanks=b" " in block) if plain else None
        )
        if quick is not None and len(quick) == count:
            parts.append(replace(quick, line=np.arange(line, line + count)))
        else:
            pairs, passed = pairs_by_line(block, path, form, problems, start=line)
            parts.append(pairs)
            comments += passed
        start, line = end, line + count
    return replace(Pairs.joined(parts), notes=_passed_over(comments))


def pairs_by_line(
    data: bytes, path: Path, form: Form, problems: Problems, *, start: int = 1
) -> tuple[Pairs, int]:
    """The pairs of a text whose first line has the number `start`, line by line, and the number of comments."""
    queries, docs, values, ranks, lines = [], [], [], [], []
    comments = 0
    for at, line in numbered(data, path, problems, start=start):
        if "#" in line and form.passes_over(line):
            comments += 1
            continue
        fields = form.fields(line)
        problem = _problem(fields, form)
        if problem is None and form.open_end and "\t" not in line:
            problem = _shifted(fields, form)
        if problem is not None:
            if len(fields) != len(form.columns) or not form.heads(fields):
                problems.add(path, at, problem)
            continue
        queries.append(fields[form.query])
        docs.append(fields[form.doc])
        values.append(number(fields[form.value]))
        ranks.append(math.nan if form.rank is None else number(fields[form.rank]))
        lines.append(at)
    ranked = None if form.rank is None else ranks
    return Pairs.of(queries, docs, values, ranks=ranked, lines=lines), comments


def _problem(fields: list[str], form: Form) -> str | None:
    if len(fields) != len(form.columns):
        return f"{len(fields)} columns, not {form}"
    missing = form.missing(fields)
    if missing is not None:
        return f"no {missing}"
    value = number(fields[form.value])
    if math.isnan(value) or (form.kind.finite and math.isinf(value)):
        return f"'{fields[form.value]}' is no {form.kind.value}"
    return None


def _shifted(fields: list[str], form: Form) -> str | None:
    """An id that holds a blank moves all that follows: words stand for the rank, and the score for the tag."""
    first, _, more = fields[-1].partition(" ")
    strange = form.rank is not None and math.isnan(number(fields[form.rank]))
    if not (more or strange) or math.isnan(number(first)):
        return None
    return f"rank '{fields[form.rank or 0]}', score '{fields[form.value]}', tag '{fields[-1]}': an id may hold a blank"


def _quickly(data: pa.Buffer, form: Form, *, tabs: bool, blanks: bool) -> Pairs | None:
    """The pairs by Arrow, the columns separated by single tabs, single blanks or runs of either."""
    pairs = _by_arrow(data, form, "\t") if tabs or form.tabs else _by_arrow(data, form, " ")
    if pairs is not None or form.tabs or (tabs and blanks):
        return pairs
    return _by_arrow(pa.py_buffer(_single_blanks(data.to_pybytes())), form, " ")


def _by_arrow(data: pa.Buffer, form: Form, separator: str) -> Pairs | None:
    """The pairs by Arrow's own reader; None where a line is not as it should be."""
    from pyarrow import csv

    comments: list[str] = []

    def passed_over(row: csv.InvalidRow) -> str:
        comments.append(row.text)
        return "skip" if form.passes_over(row.text) else "error"

    names = [str(at) for at in range(len(form.columns))]
    types = {names[at]: pa.string() for at in form.needed} | {names[form.value]: pa.float64()}
    types |= {names[form.query]: pa.dictionary(pa.int32(), pa.string())}
    types |= {} if form.rank is None else {names[form.rank]: pa.int64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=separator, quote_char=False, invalid_row_handler=passed_over
            ),
            convert_options=csv.ConvertOptions(
                include_columns=list(types), column_types=types, null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return None
    texts = [column for column in table.columns if column.type == pa.string()]
    if not len(table) or any(pc.min(pc.binary_length(column)).as_py() == 0 for column in texts):
        return None
    query, doc, value = (table[names[at]] for at in (form.query, form.doc, form.value))
    ranks = None if form.rank is None else table[names[form.rank]].to_numpy()
    pairs = Pairs.of(query, doc, value.to_numpy(), ranks=ranks)
    remarks = pc.starts_with(pairs.query.dictionary, "#")
    if not form.tabs and pc.any(remarks).as_py():
        kept = np.flatnonzero(~np.asarray(remarks.take(pairs.query.indices)))
        comments += ["#"] * (len(pairs) - len(kept))
        pairs = pairs.taken(kept)
    return replace(pairs, notes=_passed_over(len(comments))) if _is_plain(pairs, form.kind) else None


def _is_plain(pairs: Pairs, kind: Kind) -> bool:
    """Whether nothing about the pairs asks for a second look."""
    for ids in (pairs.query.dictionary, pairs.doc.dictionary):
        if pc.any(pc.or_(pc.equal(ids, ""), pc.not_equal(ids, pc.utf8_trim(ids, characters=" ")))).as_py():
            return False
    return bool(len(pairs)) and not kind.wrong(pairs.value).any()


def _single_blanks(data: bytes) -> bytes:
    """The text with one blank for every run of blanks and tabs, none at the ends of lines."""
    data = data.replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _is_utf8(data: Content) -> bool:
    if np.frombuffer(data, np.uint8).max(initial=0) < 128:
        return True
    try:
        return bool(data[:].decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _passed_over(comments: int) -> tuple[str, ...]:
    return (f"{comments} comment lines (#) passed over",) if comments else ()
