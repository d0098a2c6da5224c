"""What unjudged documents could change in the cells of a folder: the bounds, from the stored runs of its systems.

The world is what any system of the folder has stored for a query, to its full depth, on one state of a collection.
So bounds are known only when all jobs are, and a further system can widen those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.artifacts import JobFolder
from bench.encoding import positions
from bench.errors import BenchError
from bench.gains import Array
from bench.grid import LENSES
from bench.ids import Ids
from bench.metrics import MEASURES
from bench.qrels import Qrels
from bench.reading import read_qrels
from bench.runs import Run
from bench.unjudged.bounds import Bounds, bounds_at
from bench.unjudged.world import World

Codes = npt.NDArray[np.int32]

BOUNDED = (*LENSES, "rbp")
"""The measures that have bounds."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The bounds of one job by measure and k; none where its judgements or its run cannot be read."""

    queries: tuple[str, ...] = ()
    """The judged queries, ascending."""
    bounds: Mapping[tuple[str, int], Bounds] | None = None
    trouble: str | None = None
    """Why there are none, where something is wrong."""

    def grid(self, cells: pa.Table) -> pa.Table:
        """The cells of the job with the bounds of the means that they have."""
        for name in BOUNDED:
            means = [
                None if value is None or k is None else self._mean(name, k)
                for value, k in zip(cells[name].to_pylist(), cells["k"].to_pylist(), strict=True)
            ]
            for i, end in enumerate(("low", "high")):
                column = [None if mean is None else mean[i] for mean in means]
                cells = _with(cells, f"{name}_{end}", column)
        return cells

    def per_query(self, values: pa.Table) -> pa.Table:
        """The values of the job's queries with their bounds."""
        position = positions(values["query_id"], pa.array(self.queries, pa.string()))
        ks = values["k"].fill_null(0).to_numpy()
        for name in LENSES:
            known = values[name].is_valid().to_numpy() & (position >= 0)
            low, high = np.full((2, len(values)), np.nan)
            for (measure, k), found in (self.bounds or {}).items():
                if measure == name:
                    here = known & (ks == k)
                    low[here], high[here] = found.low[position[here]], found.high[position[here]]
            values = _with(_with(values, f"{name}_low", low), f"{name}_high", high)
        return values

    def _mean(self, name: str, k: int) -> tuple[float, float] | None:
        found = (self.bounds or {}).get((name, k))
        return None if found is None else found.mean


def judged(folder: Path, jobs: Sequence[tuple[JobFolder, Mapping[str, Any]]]) -> list[Judged]:
    """The bounds of finished jobs, with their manifests, of the folder of a sweep, in their order.

    Jobs on the same documents, queries and judgements make one world.
    """
    worlds: dict[tuple[Any, ...], list[int]] = {}
    for i, (_, manifest) in enumerate(jobs):
        names = tuple(manifest["digests"].items())
        worlds.setdefault((manifest["collection"], names, manifest.get("max_grade")), []).append(i)
    found: dict[int, Judged] = {}
    for members in worlds.values():
        state = folder / "collections" / str(jobs[members[0]][1]["state"])
        max_grade = jobs[members[0]][1].get("max_grade")
        asked = tuple((jobs[i][0].path.resolve(), jobs[i][0].stamp, tuple(jobs[i][1]["ks"])) for i in members)
        found |= zip(members, _of_one_world(state.resolve(), max_grade, asked), strict=True)
    return [found[i] for i in range(len(jobs))]


@lru_cache(maxsize=4)
def _of_one_world(
    state: Path, max_grade: float | None, jobs: tuple[tuple[Path, int, tuple[int, ...]], ...]
) -> tuple[Judged, ...]:
    """The bounds of the jobs of one world; remembered, because a command merges its folder more than once.

    A job is its folder, when it was written, and its k. The digest in the name of a state stands for its content.
    """
    try:
        qrels = read_qrels(state / "qrels" / "test.tsv").qrels
    except (BenchError, OSError) as error:
        return (Judged(trouble=f"no bounds: {error}"),) * len(jobs)
    stored: dict[int, pa.Table] = {}
    troubles: dict[int, str] = {}
    for i, (path, _, _) in enumerate(jobs):
        try:
            stored[i] = _stored(path / "run.parquet")
        except (pa.ArrowException, OSError) as error:
            troubles[i] = f"no bounds: {path / 'run.parquet'} cannot be read ({str(error).splitlines()[0]})"
    docs = Ids(doc for table in stored.values() for doc in _whole(table["doc_id"]).dictionary.to_pylist())
    runs = {i: _run(table, qrels, docs) for i, table in stored.items()}
    if not runs:
        return tuple(Judged(trouble=troubles[i]) for i in range(len(jobs)))
    world = World.of_pool(list(runs.values()), qrels, max_grade=max_grade)
    return tuple(
        Judged(qrels.judged_queries, _bounds(world, runs[i], ks))
        if i in runs
        else Judged(trouble=troubles[i])
        for i, (_, _, ks) in enumerate(jobs)
    )


def _bounds(world: World, run: Run, ks: Sequence[int]) -> dict[tuple[str, int], Bounds]:
    standing = world.standing(run)
    measures = [MEASURES[name] for name in BOUNDED]
    found = ((k, bounds_at(measures, standing, k)) for k in ks)
    return {(name, k): one for k, every in found for name, one in zip(BOUNDED, every, strict=True) if one}


def _stored(path: Path) -> pa.Table:
    """Queries, documents and ranks of a stored run, the ids dictionary-encoded."""
    ids = ["query_id", "doc_id"]
    return pq.read_table(path, columns=[*ids, "rank"], read_dictionary=ids).unify_dictionaries()


def _run(table: pa.Table, qrels: Qrels, docs: Ids) -> Run:
    """The rankings of the judged queries over a vocabulary; their scores are those of their ranks."""
    judged_queries = pa.array(qrels.judged_queries, pa.string())
    query = _codes(table["query_id"], lambda ids: positions(ids, judged_queries))
    row = _codes(table["doc_id"], docs.rows)
    place = table["rank"].to_numpy() - 1
    known = query >= 0
    rows = np.full((len(qrels.judged_queries), int(place.max(initial=-1)) + 1), -1, np.int32)
    rows[query[known], place[known]] = row[known]
    ranks: Array = np.broadcast_to(-np.arange(rows.shape[1], dtype=np.float64), rows.shape)
    return Run(qrels.judged_queries, docs, rows, ranks)


def _codes(ids: pa.ChunkedArray, number: Callable[[pa.Array], Codes]) -> Codes:
    """The number of every id, computed once for each that occurs."""
    whole = _whole(ids)
    return np.asarray(number(whole.dictionary)[whole.indices.to_numpy()], np.int32)


def _whole(ids: pa.ChunkedArray) -> pa.DictionaryArray:
    return ids.combine_chunks()


def _with(table: pa.Table, name: str, values: Sequence[float | None] | Array) -> pa.Table:
    """The table with other values in one column, NaN as null."""
    return table.set_column(
        table.column_names.index(name), name, pa.array(values, pa.float64(), from_pandas=True)
    )
