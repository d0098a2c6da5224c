"""A vocabulary of ids, held in the order that settles ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


class Ids(Sequence[str]):
    """Unique ids, later ids first (compared as UTF-8 bytes, which is the order of code points).

    Everything that ranks works on rows of such a vocabulary, so the one rule of ties, equal scores by
    document id descending, is everywhere the same comparison: the smaller row goes first.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = tuple(sorted(set(ids), reverse=True))

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        return self._ids[row]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ids) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)

    def __repr__(self) -> str:
        return f"Ids({len(self)}: {', '.join(self._ids[:3])}{', …' if len(self) > 3 else ''})"

    @cached_property
    def array(self) -> pa.Array:
        """The ids as an Arrow array, by row."""
        return pa.array(self._ids, pa.string())

    def rows(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """The row of each id, -1 for an id that is not in the vocabulary."""
        asked = ids if isinstance(ids, (pa.Array, pa.ChunkedArray)) else pa.array(list(ids), pa.string())
        found = pc.index_in(asked, value_set=self.array)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), np.int32)

    def take(self, rows: npt.NDArray[np.integer]) -> pa.Array:
        """The ids at these rows, null where a row is -1."""
        return self.array.take(pa.array(rows, pa.int32(), mask=rows < 0))
