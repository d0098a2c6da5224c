"""Judgements and hits in Parquet: columns for query, document and number, under their usual names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.lines import Content, Problems
from bench.reading.pairs import DOC_NAMES, QUERY_NAMES, Kind, Numbers, Pairs, name


def parquet_pairs(data: Content, path: Path, kind: Kind, problems: Problems) -> Pairs:
    """The pairs of a Parquet file; none with problems where columns are missing or are no ids or numbers."""
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(data)))
        known = {name(column): column for column in reversed(file.schema_arrow.names)}
        chosen = [
            next((known[one] for one in names if one in known), None)
            for names in (QUERY_NAMES, DOC_NAMES, kind.value_names)
        ]
        if None in chosen:
            problems.add(path, 0, f"its columns are {', '.join(file.schema_arrow.names)}; {kind.read}")
            return Pairs.none()
        table = file.read(columns=[*chosen, *([known["rank"]] if "rank" in known else [])])
    except (pa.ArrowException, OSError) as error:
        problems.add(path, 0, f"cannot be read to its end: {error}")
        return Pairs.none()
    query, doc, value = (table[column].combine_chunks() for column in chosen)
    rank = _numbers(table[known["rank"]].combine_chunks()) if "rank" in known else None
    queries, docs = _ids(query, "query", path, problems), _ids(doc, "document", path, problems)
    values = _numbers(value)
    if values is None:
        problems.add(path, 0, f"its column {chosen[2]} holds {value.type}, which is no {kind.value}")
    if queries is None or docs is None or values is None:
        return Pairs.none()
    for row in np.flatnonzero(kind.wrong(values)).tolist():
        said = "no" if not value[row].is_valid else f"{value[row].as_py()} is no"
        problems.add(path, 0, f"row {row + 1}: {said} {kind.value}")
    if problems:
        return Pairs.none()
    rows = np.arange(1, len(table) + 1)
    fractions = sum(pa.types.is_floating(_content(column)) for column in (query, doc))
    notes = [f"{fractions} columns of ids hold numbers like 12.0, read as 12"] if fractions else []
    return Pairs.of(queries, docs, values, ranks=rank, lines=rows, unit="row", notes=notes)


def _ids(column: pa.Array, what: str, path: Path, problems: Problems) -> pa.Array | None:
    """Ids as texts, those that are whole numbers written out; None with problems."""
    kind = _content(column)
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
        whole = pc.equal(column, pc.round(column)).fill_null(True)
        column = column.cast(pa.int64()) if pc.all(whole).as_py() else column
        kind = column.type
    if not (pa.types.is_integer(kind) or _is_text(kind)):
        problems.add(
            path, 0, f"its column of {what} ids holds {kind}, which is neither text nor whole numbers"
        )
        return None
    try:
        texts = column.cast(pa.string())
    except pa.ArrowInvalid as error:
        problems.add(path, 0, f"its column of {what} ids is no text: {error}")
        return None
    absent = np.asarray(
        pc.or_kleene(texts.is_null(), pc.equal(pc.utf8_trim_whitespace(texts), "")).fill_null(True)
    )
    for row in np.flatnonzero(absent).tolist():
        problems.add(path, 0, f"row {row + 1}: no {what} id")
    return texts


def _content(column: pa.Array) -> pa.DataType:
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _numbers(column: pa.Array) -> Numbers | None:
    """The numbers of a column, NaN where it holds none; None where it is no column of numbers."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(column.cast(pa.float64()).fill_null(np.nan), np.float64)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
