"""The per-query table as matrices: the value of every query under every system, for a measure and k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.errors import BenchError, did_you_mean
from bench.gains import Array
from bench.grid import MEASURE_COLUMNS
from bench.measure import Measure


@dataclass(frozen=True, eq=False)
class Panel:
    """Systems that were asked the same queries of one collection, and what each has on each."""

    systems: tuple[str, ...]
    """Their labels."""
    queries: tuple[str, ...]
    """The judged queries, ascending."""
    needs: tuple[str, ...]
    """The need of each query, [q]."""
    values: Mapping[tuple[str, int], Array]
    """By column of the measure and k: [q, systems], NaN where a query is left out or a cell is missing."""

    @classmethod
    def of(cls, per_query: pa.Table, needs: Mapping[str, str], *, systems: Mapping[str, str]) -> Panel:
        """The panel of a per-query table (see `bench.grid.PER_QUERY`) of one collection and one seed.

        `systems` gives the label of each system id, in the order that is wanted; rows of others are left out, and
        so are those of a token budget, which have no k. `needs` gives the need of each query; one that it lacks
        is its own. Raises ValueError where a system has a query twice at one k.
        """
        table = per_query.filter(
            pc.and_(
                pc.is_in(per_query["system_id"], pa.array(list(systems), pa.string())),
                pc.is_valid(per_query["k"]),
            )
        )
        queries = tuple(sorted(set(table["query_id"].to_pylist())))
        ks = table["k"].to_numpy().astype(np.int64)
        rows = _codes(table["query_id"], queries)
        columns = _codes(table["system_id"], tuple(systems))
        if len(np.unique(np.stack([ks, rows, columns]), axis=1).T) < len(ks):
            raise ValueError("a system has a query twice at one k: give one collection and one seed")
        values = {}
        for name in MEASURE_COLUMNS:
            given = table[name].to_numpy()
            for k in np.unique(ks[~np.isnan(given)]).tolist():
                matrix = np.full((len(queries), len(systems)), np.nan)
                here = ks == k
                matrix[rows[here], columns[here]] = given[here]
                values[name, k] = matrix
        own = tuple(needs.get(query, query) for query in queries)
        return cls(tuple(systems.values()), queries, own, values)

    def at(self, measure: Measure, k: int) -> Array:
        """The values at one measure and k, [q, systems]; BenchError where there are none."""
        if (measure.key, k) in self.values:
            return self.values[measure.key, k]
        ks = self.ks(measure.key)
        if not ks:
            raise BenchError(f"there are no values of {measure}{did_you_mean(measure.key, self.measures)}")
        raise BenchError(f"there are no values of {measure.at(k)}; k was {', '.join(map(str, ks))}")

    @property
    def measures(self) -> tuple[str, ...]:
        """The columns that have values."""
        return tuple(dict.fromkeys(name for name, _ in self.values))

    def ks(self, measure: str) -> tuple[int, ...]:
        """The cut-offs at which the measure of this column has values, rising."""
        return tuple(sorted(k for name, k in self.values if name == measure))

    def column(self, system: str) -> int:
        """Where a system stands; BenchError names the nearest where there is none of this label."""
        if system not in self.systems:
            raise BenchError(f"there is no system '{system}'{did_you_mean(system, self.systems)}")
        return self.systems.index(system)

    def only(self, systems: Sequence[str], *, names: Sequence[str] | None = None) -> Panel:
        """The panel of these systems alone, in this order, called by these names where they are given."""
        columns = [self.column(system) for system in systems]
        values = {cell: matrix[:, columns] for cell, matrix in self.values.items()}
        return Panel(tuple(names or systems), self.queries, self.needs, values)

    def beside(self, other: Panel) -> Panel:
        """The systems of both panels, at the measures and k that both have; ValueError on other queries."""
        if (self.queries, self.needs) != (other.queries, other.needs):
            raise ValueError("panels are set side by side over the same queries and needs")
        both = [cell for cell in self.values if cell in other.values]
        values = {cell: np.hstack([self.values[cell], other.values[cell]]) for cell in both}
        return Panel((*self.systems, *other.systems), self.queries, self.needs, values)


def _codes(column: pa.ChunkedArray, order: Sequence[str]) -> npt.NDArray[np.int64]:
    """Where each entry stands in the order."""
    return np.asarray(pc.index_in(column, pa.array(order, pa.string())).to_numpy(), np.int64)
