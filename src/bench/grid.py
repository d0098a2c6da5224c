"""The tidy tables: one row a cell, and one row a query of a cell. Their columns are declared here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import BenchError

SCHEMA_VERSION = 2

MEASURE_COLUMNS = (
    "precision", "recall", "mrr", "ndcg", "ndcg_exp", "ndcg_retrieved", "complete", "part_recall", "alpha_ndcg",
    "ap", "success", "f1", "r_precision", "bpref", "rbp", "err", "context_precision", "judged",
)  # fmt: skip
LENSES = ("precision", "recall", "mrr", "ndcg")
"""The four that everything is seen through first: their ties and their bounds by query are kept too."""
STAGES = ("encode", "search", "fuse", "rerank")


def counts_own(measure: str) -> bool:
    """Whether a measure has a column `<measure>_queries`: nDCG's is `queries`, and `judged_queries` is taken."""
    return measure not in ("ndcg", "judged")


@dataclass(frozen=True)
class Column:
    """One column: its type, what it holds, and whether it is measured and so differs from run to run."""

    name: str
    type: pa.DataType
    about: str
    measured: bool = False


def _columns() -> tuple[Column, ...]:
    text, whole, real = pa.string(), pa.int64(), pa.float64()
    identity = [
        Column("name", text, "The run or sweep: the folder under `outputs/`."),
        Column("system", text, "The label of the system, as `--baseline` takes it."),
        Column("system_id", text, "Hash of the system's identity: every part, every setting, every depth."),
        Column("collection", text, "The collection's name."),
        Column("retriever", text, "The retriever's option, as asked."),
        Column("store", text, "The store's option; null where the system has no vector store."),
        Column("embedder", text, "The embedder's option; null where the system embeds nothing."),
        Column("analyzer", text, "The analyzer in use; null where the system analyses no text."),
        Column("reranker", text, "The reranker's option, as asked (`none` without one)."),
        Column("depth", whole, "How many candidates are stored for each query."),
        Column("k", whole, "The cut-off: how many chunks go to the model. Null in a token-budget cell."),
        Column("budget", whole, "The token budget of the cell. Null in a cell with a k."),
        Column("seed", whole, "The seed of everything random."),
        Column("parameters", text, "JSON: the settings of every part, with those read back from the index."),
        Column("status", text, "`ok`, `failed` or `skipped`."),
        Column("reason", text, "Why a cell failed or was skipped; null where it is ok."),
    ]
    counts = [
        Column("queries", whole, "Over how many queries the mean of nDCG is."),
        Column("no_relevant", whole, "Judged queries without a relevant document, left out of the means."),
        Column("unanswered", whole, "Queries that count for which nothing came back; each counts 0."),
        Column("judged_queries", whole, "Queries with at least one judgement."),
        Column("unjudged_queries", whole, "Queries of the collection without any judgement."),
        Column(
            "tied_queries",
            whole,
            "Queries that count in which the order of equal scores could change a lens.",
        ),
    ]
    measures = [
        column
        for name in MEASURE_COLUMNS
        for column in (
            Column(name, real, f"The mean of {name} at k."),
            *(
                [Column(f"{name}_queries", whole, f"Over how many queries the mean of {name} is.")]
                if counts_own(name)
                else []
            ),
            Column(f"{name}_lo", real, f"Lower end of the 95 % interval of {name}."),
            Column(f"{name}_hi", real, f"Upper end of the 95 % interval of {name}."),
            Column(f"{name}_low", real, f"The least {name} can be, whatever the unjudged documents are."),
            Column(f"{name}_high", real, f"The most {name} can be, whatever the unjudged documents are."),
        )
    ]
    tied = [
        Column(f"{name}_tie_{end}", real, f"The {end} mean of {name} over all orders of equal scores.")
        for name in LENSES
        for end in ("lowest", "highest")
    ]
    latency = [
        column
        for percentile in ("p50", "p95", "p99")
        for column in (
            Column(
                f"latency_{percentile}_ms",
                real,
                f"{percentile} of one call, end to end, in milliseconds.",
                True,
            ),
            Column(
                f"latency_{percentile}_ms_lo", real, f"Lower end of the 95 % interval of {percentile}.", True
            ),
            Column(
                f"latency_{percentile}_ms_hi", real, f"Upper end of the 95 % interval of {percentile}.", True
            ),
        )
    ]
    stages = [
        Column(
            f"latency_{stage}_{percentile}_ms", real, f"{percentile} of the stage {stage} of one call.", True
        )
        for stage in STAGES
        for percentile in ("p50", "p95")
    ]
    costs = [
        Column(
            "index_seconds",
            real,
            "Time to make the documents searchable, embedding included; null from cache.",
            True,
        ),
        Column("index_bytes", whole, "What the index occupies."),
        Column("peak_memory_bytes", whole, "Peak resident memory of the process that ran the job.", True),
        Column("context_tokens", real, r"Mean over queries of the tokens (`\w+|[^\w\s]`) handed over."),
        Column("context_chunks", real, "Mean over queries of the chunks handed over."),
    ]
    fingerprints = [
        Column("corpus_digest", text, "Names the documents that were searched."),
        Column("queries_digest", text, "Names the queries that were asked."),
        Column("qrels_digest", text, "Names the judgements that were used."),
        Column("bench_version", text, "The version that wrote the row."),
        Column("schema_version", whole, "The version of these columns."),
    ]
    return tuple(identity + counts + measures + tied + latency + stages + costs + fingerprints)


GRID = _columns()
PER_QUERY = (
    Column("system_id", pa.string(), "As in the grid."),
    Column("collection", pa.string(), "As in the grid."),
    Column("seed", pa.int64(), "As in the grid."),
    Column("query_id", pa.string(), "A judged query."),
    Column("k", pa.int64(), "As in the grid."),
    Column("budget", pa.int64(), "As in the grid."),
    *(
        Column(name, pa.float64(), f"{name} at k; null where the query is left out.")
        for name in MEASURE_COLUMNS
    ),
    *(
        Column(
            f"{name}_{end}", pa.float64(), f"The {word} {name} can be, whatever the unjudged documents are."
        )
        for name in LENSES
        for end, word in (("low", "least"), ("high", "most"))
    ),
)


@dataclass(frozen=True, eq=False)
class MetricGrid:
    """The table of values: one row a cell (system, collection, k or budget), in that order."""

    table: pa.Table

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> MetricGrid:
        """A grid of these rows; a column that a row lacks is null, one that the schema lacks is an error."""
        return cls(_ordered(_table(rows, GRID), ("collection", "system", "k", "budget", "seed", "system_id")))

    @classmethod
    def read(cls, path: Path) -> MetricGrid:
        """The grid of a Parquet file."""
        return cls(read_table(path, GRID))

    def to_pandas(self) -> pd.DataFrame:
        """The grid as a data frame, for a person."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """The cells as dictionaries."""
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows


def per_query_table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The per-query table of these columns; a measure that is not among them is null, NaN becomes null."""
    count = len(next(iter(columns.values()), ()))
    unknown = set(columns) - {column.name for column in PER_QUERY}
    if unknown:
        raise ValueError(f"not columns of the per-query table: {sorted(unknown)}")
    arrays = [
        pa.array(columns[column.name], column.type, from_pandas=True)
        if column.name in columns
        else pa.nulls(count, column.type)
        for column in PER_QUERY
    ]
    return pa.table(arrays, schema=_schema(PER_QUERY))


def concatenated(tables: Sequence[pa.Table], columns: Sequence[Column]) -> pa.Table:
    """Several tables of one schema as one, ordered as the grid is where it has those columns."""
    whole = pa.concat_tables(tables) if tables else _schema(columns).empty_table()
    keys = ("collection", "system", "k", "budget", "seed", "system_id", "query_id")
    return _ordered(whole, tuple(key for key in keys if key in whole.column_names))


def read_table(path: Path, columns: Sequence[Column]) -> pa.Table:
    """The table of a Parquet file, refused where its columns are not these."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise BenchError(
            f"{path} cannot be read ({str(error).splitlines()[0]}); delete its folder and run the command again"
        ) from error
    expected = _schema(columns)
    if table.schema.remove_metadata() != expected:
        raise BenchError(
            f"{path} was written by another version of bench; run the command again with fresh=true"
        )
    return table


def _schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, column.type) for column in columns])


def _table(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> pa.Table:
    every = list(rows)
    unknown = {name for row in every for name in row} - {column.name for column in columns}
    if unknown:
        raise ValueError(f"not columns of the grid: {sorted(unknown)}")
    return pa.Table.from_pylist(
        [{c.name: row.get(c.name) for c in columns} for row in every], _schema(columns)
    )


def _ordered(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    return table.sort_by([(key, "ascending") for key in keys]) if len(table) else table
