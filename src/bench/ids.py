"""A vocabulary of ids, held in the order that settles ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.encoding import order, positions


class Ids(Sequence[str]):
    """Unique ids, later ids first (compared as UTF-8 bytes, which is the order of code points).

    Everything that ranks works on rows of such a vocabulary, so the one rule of ties, equal scores by
    document id descending, is everywhere the same comparison: the smaller row goes first.
    """

    def __init__(self, ids: Iterable[str] | pa.StringArray) -> None:
        if isinstance(ids, pa.StringArray) and not ids.null_count:
            if pc.all(pc.greater(ids[:-1], ids[1:])).as_py() is not False:
                self.array = ids
            else:
                several = ids.unique()
                self.array = several.take(pa.array(order(several)[::-1]))
            return
        unique = set(ids)
        # None would be found again as None: what has no id on either side would be called the same.
        if strange := [one for one in unique if not isinstance(one, str)]:
            raise TypeError(f"an id is a text, not {strange[0]!r}")
        self._ids = tuple(sorted(unique, reverse=True))

    def __len__(self) -> int:
        return len(self.array)

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

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self.array.to_pylist())

    def rows(self, ids: Iterable[str] | pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
        """The row of each id, -1 for an id that is not in the vocabulary."""
        asked = ids if isinstance(ids, (pa.Array, pa.ChunkedArray)) else pa.array(list(ids), pa.string())
        return positions(asked, self.array)

    def take(self, rows: npt.NDArray[np.integer]) -> pa.Array:
        """The ids at these rows, null where a row is -1."""
        return self.array.take(pa.array(rows, pa.int32(), mask=rows < 0))
