"""Pairs that stand twice in a file: told with both their places, or left out and counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.lines import Problems
from bench.reading.pairs import Pairs


def without_conflicts(pairs: Pairs, path: Path, problems: Problems) -> Pairs:
    """Each judged pair once; two grades for one are a problem that names both lines."""
    if not pairs.repeated:
        return pairs
    first = pairs.first
    again = first != np.arange(len(pairs))
    for place in np.flatnonzero(again & (pairs.value != pairs.value[first])).tolist():
        before = int(first[place])
        pair = f"{pairs.query[place].as_py()} / {pairs.doc[place].as_py()}"
        where, grade = pairs.where(before), f"{pairs.value[place]:g}"
        other = f"another on {where}" if where else f"{pairs.value[before]:g} too"
        pairs.add_to(problems, path, place, f"{pair} has grade {grade} here and {other}")
    note = f"{again.sum()} judgements are repeated with the same grade; each counts once"
    return replace(pairs.taken(np.flatnonzero(~again)), notes=(*pairs.notes, note))


def without_repetitions(pairs: Pairs, path: Path, problems: Problems, *, keep_first: bool) -> Pairs:
    """Each hit once: documents that stand twice in a ranking are problems, or all but the first are left out."""
    if not pairs.repeated:
        return pairs
    first = pairs.first
    again = first != np.arange(len(pairs))
    for place in [] if keep_first else np.flatnonzero(again).tolist():
        before = pairs.where(int(first[place]))
        query, doc = pairs.query[place].as_py(), pairs.doc[place].as_py()
        where = f"already, on {before}" if before else "twice"
        pairs.add_to(problems, path, place, f"{doc} stands in the ranking of {query} {where}")
    note = f"{again.sum()} hits left out: documents that stand in their ranking already (the first was kept)"
    return replace(pairs.taken(np.flatnonzero(~again)), notes=(*pairs.notes, note))
