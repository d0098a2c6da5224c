"""The same figures for some of the queries, by what their metadata says; and whether the systems differ between them.

A slice is spoken of only where how the systems compare depends on it (system x slice). The test takes from every
query its mean over systems, so that a slice may be harder without counting, and permutes which needs lie in which
slice: whole needs among those of as many queries, and queries within their need, for metadata may be of the
wording alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.collection import Query
from bench.gains import Array
from bench.statistics.curves import figure
from bench.statistics.figures import Figure, Interaction, Slice
from bench.statistics.intervals import FEWEST, mean_intervals
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples, need_codes
from bench.statistics.significance import FLIPS, TOLERANCE, benjamini_hochberg

MOST = 30
"""A key with more values parts the queries into no slices; nor does one with fewer than two queries a value."""
_BLOCK = 20_000_000


@dataclass(frozen=True, eq=False)
class Key:
    """A key of the metadata and its value, as text, for each query of a panel; empty where a query lacks it."""

    name: str
    values: npt.NDArray[np.str_]
    """[q]"""

    @property
    def parts(self) -> tuple[str, ...]:
        """The values, ascending, the empty one last."""
        return tuple(sorted(set(self.values.tolist()), key=lambda value: (not value, value)))


def keys(queries: Sequence[Query], asked: Sequence[str]) -> tuple[Key, ...]:
    """What parts the queries that were asked into slices, by name: every key but the need that has a few values."""
    about = {query.id: text_metadata(query.metadata) for query in queries}
    names = sorted({name for query in asked for name in about.get(query, {})})
    found = (Key(name, np.array([about.get(query, {}).get(name, "") for query in asked])) for name in names)
    return tuple(key for key in found if 1 < len(key.parts) <= min(MOST, len(asked) // 2))


def text_metadata(metadata: Mapping[str, object]) -> dict[str, str]:
    """Metadata as text, without the need; what is not there is left out."""
    return {
        str(name): ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in metadata.items()
        if name != "need" and value is not None
    }


def slices(
    panel: Panel, of: Sequence[Key], *, measures: Sequence[str], measure: str, k: int, resamples: Resamples
) -> tuple[Slice, ...]:
    """Every slice at every k, with intervals at the measure and k of the report; `resamples` are of the panel's needs.

    A slice without a query that counts is left out.
    """
    return tuple(
        found
        for key in of
        for found in _of_key(panel, key, measures=measures, measure=measure, k=k, resamples=resamples)
    )


def interactions(
    values: Array, needs: Sequence[str], of: Sequence[Key], *, alpha: float = 0.05, seed: int = 0
) -> tuple[Interaction, ...]:
    """Whether the systems of values [q, systems], NaN where there is none, compare otherwise from slice to slice."""
    counted = np.asarray(~np.isnan(values).any(axis=1))
    chosen = [need for need, here in zip(needs, counted, strict=True) if here]
    p = np.array(
        [interaction(values[counted], chosen, key.values[counted], seed=seed) for key in of], np.float64
    )
    corrected = benjamini_hochberg(p)
    among = int((~np.isnan(p)).sum())
    return tuple(
        Interaction(key=key.name, p=_known(p[i]), corrected=_known(corrected[i]), among=among, alpha=alpha)
        for i, key in enumerate(of)
    )


def interaction(
    values: Array, needs: Sequence[str], labels: npt.NDArray[np.str_], *, count: int = FLIPS, seed: int = 0
) -> float:
    """p of system x slice for values [q, systems] without NaN; NaN with one system, one slice or below 10 needs.

    The statistic is the sum over slices and systems of queries x (mean of the slice - mean of all)², of what a
    query has beyond its own mean over systems.
    """
    _, slice_of = np.unique(labels, return_inverse=True)
    if values.shape[1] < 2 or len(set(needs)) < FEWEST or slice_of.max(initial=0) < 1:
        return np.nan
    beyond = values - values.mean(axis=1, keepdims=True)
    beyond = beyond - beyond.mean(axis=0)
    observed = _between(slice_of[np.newaxis], beyond)[0]
    if observed <= TOLERANCE:
        return 1.0
    as_far, random = 0, np.random.default_rng(seed)
    strata = tuple(_strata(needs))
    step = max(1, _BLOCK // (values.size * (1 + int(slice_of.max()))))
    for start in range(0, count, step):
        drawn = _permuted(slice_of, strata, rows=min(step, count - start), random=random)
        as_far += int((_between(drawn, beyond) >= observed * (1 - TOLERANCE)).sum())
    return (as_far + 1) / (count + 1)


def _between(slice_of: npt.NDArray[np.int64], beyond: Array) -> Array:
    """The statistic of each row of slices by number [rows, q]."""
    total = np.zeros(len(slice_of))
    for part in range(int(slice_of.max()) + 1):
        inside = (slice_of == part).astype(np.float64)
        sums, sizes = inside @ beyond, inside.sum(axis=1)
        total += (sums**2).sum(axis=1) / np.maximum(sizes, 1.0)
    return total


def _strata(needs: Sequence[str]) -> Iterator[npt.NDArray[np.int64]]:
    """The queries of the needs that have as many, [needs, queries of each]."""
    codes = need_codes(needs)
    of_need: dict[int, list[int]] = {}
    for query, code in enumerate(codes.tolist()):
        of_need.setdefault(code, []).append(query)
    for size in sorted({len(one) for one in of_need.values()}):
        yield np.array([one for one in of_need.values() if len(one) == size])


def _permuted(
    slice_of: npt.NDArray[np.int64],
    strata: Sequence[npt.NDArray[np.int64]],
    *,
    rows: int,
    random: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """The slices under `rows` permutations, [rows, q]."""
    drawn = np.empty((rows, len(slice_of)), np.int64)
    for stratum in strata:
        order = random.permuted(np.tile(np.arange(len(stratum)), (rows, 1)), axis=1)
        held = slice_of[stratum][order]
        drawn[:, stratum] = random.permuted(held, axis=2) if stratum.shape[1] > 1 else held
    return drawn


def _of_key(
    panel: Panel, key: Key, *, measures: Sequence[str], measure: str, k: int, resamples: Resamples
) -> Iterator[Slice]:
    inside = [key.values == value for value in key.parts]
    shown = {cell: panel.values[cell] for cell in panel.values if cell[0] in measures}
    spans = _spans(panel, panel.values[measure, k], inside, resamples)
    for i, value in enumerate(key.parts):
        counted = inside[i] & ~np.isnan(panel.values[measure, k]).all(axis=1)
        needs = {need for need, here in zip(panel.needs, counted, strict=True) if here}
        if not counted.any():
            continue
        means = {cell: _means(matrix[inside[i]]) for cell, matrix in shown.items()}
        yield Slice(
            key=key.name,
            value=value,
            queries=int(counted.sum()),
            needs=len(needs),
            values={
                (system, cut): {
                    name: spans[i][system] if (name, cut) == (measure, k) else figure(of[column])
                    for (name, one), of in means.items()
                    if one == cut and not np.isnan(of[column])
                }
                for column, system in enumerate(panel.systems)
                for cut in sorted({cut for _, cut in shown})
            },
            note="" if len(needs) >= FEWEST else f"{len(needs)} needs: too few for an interval",
        )


def _spans(
    panel: Panel, values: Array, inside: Sequence[npt.NDArray[np.bool_]], resamples: Resamples
) -> list[dict[str, Figure]]:
    """The mean and interval of every system in each slice, by system."""
    held = np.hstack([np.where(one[:, np.newaxis], values, np.nan) for one in inside])
    found, width = mean_intervals(held, resamples), len(panel.systems)
    means = _means(held)
    return [
        {
            system: figure(means[at], found.lo[at], found.hi[at])
            for at, system in enumerate(panel.systems, start=part * width)
        }
        for part in range(len(inside))
    ]


def _means(values: Array) -> Array:
    """Of each column, NaN where it has nothing."""
    known = ~np.isnan(values)
    sums, sizes = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.divide(sums, sizes, out=np.full(sums.shape, np.nan), where=sizes > 0))


def _known(p: float) -> float | None:
    return None if np.isnan(p) else float(p)
