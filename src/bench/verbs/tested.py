"""Where a folder is tested: the k that is named or the nearest to the usual one, and the systems with values there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.errors import BenchError, listing
from bench.measure import Measure
from bench.statistics.panel import Panel

NEAR = 5
"""Where no k is named, the swept one nearest to it is tested."""


@dataclass(frozen=True, eq=False)
class Tested:
    """The systems that have a value at the measure and k of the test."""

    panel: Panel
    k: int
    notes: tuple[str, ...]


def tested(
    panel: Panel, measure: Measure, *, collection: str, k: int | None, ks: Sequence[int] = ()
) -> Tested:
    """The panel at the k that is named, else at the one of `ks` (of all, without any) that is nearest to 5.

    BenchError, naming the collection, where nothing has a value there.
    """
    chosen, note = _k(panel, measure, k=k, ks=ks)
    known = np.asarray(~np.isnan(panel.at(measure, chosen)).all(axis=0))
    systems = [panel.systems[i] for i in np.flatnonzero(known)]
    if not systems:
        raise BenchError(f"{collection}: no query has a value of {measure.at(chosen)}")
    notes = [f"{collection}: {note}"] if note else []
    if left_out := [system for system in panel.systems if system not in systems]:
        notes.append(f"{collection}: left out, without {measure.at(chosen)}: {listing(left_out)}")
    return Tested(panel.only(systems), chosen, tuple(notes))


def _k(panel: Panel, measure: Measure, *, k: int | None, ks: Sequence[int]) -> tuple[int, str]:
    """The k of the test, and why it is this one where that is to be said."""
    swept = panel.ks(measure.key)
    for one in filter(None, (k, *ks)):
        panel.at(measure, one)
    if k is not None:
        return k, ""
    among = tuple(ks) or swept
    if not among:
        panel.at(measure, NEAR)
    if not measure.has_k:
        return among[-1], ""
    filled = {k: int((~np.isnan(panel.at(measure, k))).any(axis=0).sum()) for k in among}
    most = [k for k in among if filled[k] == max(filled.values())]
    chosen = min(most, key=lambda k: (abs(k - NEAR), k))
    nearest = "" if chosen == NEAR else f", the nearest to {NEAR} of {listing(map(str, among))}"
    why = f"no k was named, so k={chosen} is tested{nearest} (another: --measure {measure}@K)"
    return chosen, why if len(among) > 1 else ""
