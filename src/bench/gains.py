"""What a measure sees: gains by rank, the status of each place, and what could have stood there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

EMPTY, UNJUDGED, NEGATIVE, JUDGED, RELEVANT = range(5)
"""The status of a place: nothing came back, no judgement, judged below 0, judged and not relevant, relevant."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Rankings as a measure sees them; rank is the last axis, so one query is [depth] and many are [q, depth].

    The gain of a grade g is max(0, g); a place is relevant where its grade is at least `rel`, 1 by default.
    """

    ranked: Array
    """Gain by rank, [..., depth]; 0 where nothing relevant stands."""
    status: npt.NDArray[np.int8]
    """EMPTY, UNJUDGED, NEGATIVE, JUDGED or RELEVANT (grade at least 1) by rank, [..., depth]."""
    ideal: Array
    """The grades of all judged documents, falling, -inf behind the last, [..., n]."""
    max_grade: float = 1.0
    """The top of the scale of grades, for measures that need one."""
    covers: Bits | None = None
    """Which parts of the answer each place covers, one bit a part, [..., depth]; None without parts."""
    parts: Bits | None = None
    """Which parts the answer has, one bit a part, [...]; 0 where the query has none."""
    covering: Bits | None = None
    """Which parts each judged document covers, [..., n], 0 behind the last; None without parts."""

    _kept: dict[tuple[str, float], npt.NDArray[Any]] = field(default_factory=dict, init=False, repr=False)
    """What all cut-offs share, counted once for each level of relevance."""

    def top(self, k: int) -> Gains:
        """The same with the first k places alone; what could have stood there stays whole."""
        covers = None if self.covers is None else self.covers[..., :k]
        ranked = np.ascontiguousarray(self.ranked[..., :k])
        return replace(self, ranked=ranked, status=self.status[..., :k], covers=covers)

    def relevant(self, k: int | None = None, *, rel: float = 1) -> npt.NDArray[np.bool_]:
        """Where the first k places (all without k) hold a relevant document, [..., min(k, depth)]."""
        return self.ranked[..., :k] >= rel

    def found(self, k: int, *, rel: float = 1) -> Array:
        """How many relevant documents stand in the top k, [...]."""
        if ("found", rel) not in self._kept:
            relevant = self.relevant(rel=rel)
            counts = np.zeros((*relevant.shape[:-1], relevant.shape[-1] + 1), np.int32)
            np.cumsum(relevant, axis=-1, out=counts[..., 1:])
            self._kept["found", rel] = counts
        return np.asarray(self._kept["found", rel][..., : k + 1][..., -1], np.float64)

    def first(self, *, rel: float = 1) -> Array:
        """The rank of the first relevant document, infinite where there is none, [...]."""
        if ("first", rel) not in self._kept:
            relevant = self.relevant(rel=rel)
            rank = np.where(relevant.any(axis=-1), relevant.argmax(axis=-1) + 1.0, np.inf)
            self._kept["first", rel] = rank
        return self._kept["first", rel]

    def total(self, *, rel: float = 1) -> Array:
        """R: how many judged documents are relevant, [...]."""
        if ("total", rel) not in self._kept:
            self._kept["total", rel] = np.asarray((self.ideal >= rel).sum(axis=-1), np.float64)
        return self._kept["total", rel]
