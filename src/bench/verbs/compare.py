"""What `compare` is asked of folders, found: their systems at one measure and k, or one before and one after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bench.errors import BenchError, listing
from bench.grid import LENSES
from bench.ids import Ids
from bench.metrics import MEASURES
from bench.statistics.before_after import BeforeAfter, Cell, before_after
from bench.statistics.overview import Overview, overview
from bench.statistics.panel import Panel
from bench.statistics.rankings import Rankings
from bench.verbs.compare_request import Request
from bench.verbs.folders import Opened, matched, opened

NEAR = 5
"""Where no k is named, the swept one nearest to it is tested."""
USUAL = (*LENSES, "complete")
"""What is shown of a before and after where nothing is named, as far as it was taken."""


def compared(asked: Request) -> list[Overview | BeforeAfter]:
    """One finding a collection. BenchError where what is asked for is not there, or two folders do not match."""
    folder = opened(asked.folder, collection=asked.collection, seed=asked.seed)
    if asked.after is not None:
        after = opened(asked.after, collection=asked.collection, seed=asked.seed)
        return [_of_two(asked, *pair) for pair in matched(folder, after)]
    if asked.baseline is None:
        return [_of_sweep(asked, one) for one in folder]
    return [_against(asked, one) for one in _having(asked, folder)]


@dataclasses.dataclass(frozen=True, eq=False)
class _Tested:
    """The systems that have a value at the measure and k of the test."""

    panel: Panel
    k: int
    notes: tuple[str, ...]


def _of_sweep(asked: Request, one: Opened) -> Overview:
    tested = _tested(asked, one.panel, one.name)
    return overview(
        tested.panel,
        asked.measure,
        k=tested.k,
        rankings=_rankings(one, tested),
        reranked=one.without_reranker(),
        alpha=asked.alpha,
        worth_finding=asked.worth_finding,
        notes=(*one.notes, *tested.notes),
    )


def _against(asked: Request, one: Opened) -> BeforeAfter:
    tested = _tested(asked, one.panel, one.name)
    for system in filter(None, (asked.baseline, asked.system)):
        if system not in tested.panel.systems:
            raise BenchError(f"{one.name}: {system} has no value of {asked.measure.at(tested.k)}")
    return before_after(
        tested.panel,
        asked.measure,
        k=tested.k,
        baseline=str(asked.baseline),
        system=asked.system,
        also=_also(asked, tested, one),
        rankings=_rankings(one, tested),
        alpha=asked.alpha,
        worth_finding=asked.worth_finding,
        notes=(*one.notes, *tested.notes),
    )


def _of_two(asked: Request, before: Opened, after: Opened) -> BeforeAfter:
    """One system of each folder, under names that tell them apart."""
    labels = _pair(asked, before, after)
    alike = before.folder.name == after.folder.name
    first, second = (
        f"{one.folder if alike else one.folder.name}/{label}"
        for one, label in zip((before, after), labels, strict=True)
    )
    docs = Ids({*before.collection.doc_ids, *after.collection.doc_ids})
    runs = {first: before.runs(docs)[labels[0]], second: after.runs(docs)[labels[1]]}
    panel = before.panel.only([labels[0]], names=[first]).beside(
        after.panel.only([labels[1]], names=[second])
    )
    tested = _tested(asked, panel, before.name)
    notes = [*before.notes, *after.notes, *tested.notes]
    if before.digests["corpus"] != after.digests["corpus"]:
        notes.append(f"{before.name}: the documents of the two folders differ")
    return before_after(
        tested.panel,
        asked.measure,
        k=tested.k,
        baseline=first,
        system=second,
        also=_also(asked, tested, before),
        rankings=Rankings(runs, before.collection, before.documents),
        alpha=asked.alpha,
        worth_finding=asked.worth_finding,
        notes=list(dict.fromkeys(notes)),
    )


def _pair(asked: Request, before: Opened, after: Opened) -> tuple[str, str]:
    """The label of the system in each folder."""
    ours, theirs = before.panel.systems, after.panel.systems
    first, second = asked.baseline or asked.system, asked.system or asked.baseline
    both = [system for system in ours if system in theirs]
    if first is None or second is None:
        if len(ours) == len(theirs) == 1:
            return ours[0], theirs[0]
        if len(both) == 1:
            return both[0], both[0]
        shared = f"in both: {listing(both)}" if both else "none is in both"
        raise BenchError(
            f"{before.name}: which system? --system SYSTEM ({shared}), or --baseline SYSTEM --system SYSTEM for one "
            f"of {before.folder} ({listing(ours)}) and one of {after.folder} ({listing(theirs)})"
        )
    for one, system in ((before, first), (after, second)):
        one.refuse_unknown(system)
    return first, second


def _having(asked: Request, folder: Sequence[Opened]) -> list[Opened]:
    """The collections with the systems that are named; the first says which others there are."""
    named = [system for system in (asked.baseline, asked.system) if system]
    having = [one for one in folder if set(named) <= set(one.panel.systems)]
    if not having:
        for system in named:
            folder[0].refuse_unknown(system)
    left_out = [one.name for one in folder if one not in having]
    if left_out:
        note = f"left out, without {' or '.join(named)}: {listing(left_out)}"
        having[0] = dataclasses.replace(having[0], notes=(*having[0].notes, note))
    return having


def _tested(asked: Request, panel: Panel, collection: str) -> _Tested:
    """Where the test is made, and the systems that have something there."""
    k, note = _k(asked, panel)
    known = ~np.isnan(panel.at(asked.measure, k)).all(axis=0)
    systems = [panel.systems[i] for i in np.flatnonzero(known)]
    if not systems:
        raise BenchError(f"{collection}: no query has a value of {asked.measure.at(k)}")
    notes = [f"{collection}: {note}"] if note else []
    if left_out := [system for system in panel.systems if system not in systems]:
        notes.append(f"{collection}: left out, without {asked.measure.at(k)}: {listing(left_out)}")
    return _Tested(panel.only(systems), k, tuple(notes))


def _k(asked: Request, panel: Panel) -> tuple[int, str]:
    """The k of the test, and why it is this one where that is to be said."""
    swept = panel.ks(asked.measure.key)
    for k in filter(None, (asked.k, *asked.ks)):
        panel.at(asked.measure, k)
    if asked.k is not None:
        return asked.k, ""
    among = asked.ks or swept
    if not among:
        panel.at(asked.measure, NEAR)
    if not asked.measure.has_k:
        return among[-1], ""
    filled = {k: int((~np.isnan(panel.at(asked.measure, k))).any(axis=0).sum()) for k in among}
    most = [k for k in among if filled[k] == max(filled.values())]
    k = min(most, key=lambda k: (abs(k - NEAR), k))
    nearest = "" if k == NEAR else f", the nearest to {NEAR} of {listing(map(str, among))}"
    why = f"no k was named, so k={k} is tested{nearest} (another: --measure {asked.measure}@K)"
    return k, why if len(among) > 1 else ""


def _also(asked: Request, tested: _Tested, one: Opened) -> list[Cell]:
    """The other measures and k of a before and after; Complete only where answers have parts."""
    panel, ks = tested.panel, asked.ks or (tested.k,)
    if asked.also is None:
        names = USUAL if one.collection.qrels.parts else LENSES
        usual = [(MEASURES[name], k) for name in names for k in ks if (name, k) in panel.values]
        return [cell for cell in usual if cell != (asked.measure, tested.k)]
    cells = [
        (measure, cut)
        for measure, k in asked.also
        for cut in ((ks if k is None else (k,)) if measure.has_k else (panel.ks(measure.key) or ks)[-1:])
    ]
    return [cell for cell in dict.fromkeys(cells) if cell != (asked.measure, tested.k)]


def _rankings(one: Opened, tested: _Tested) -> Rankings:
    runs = one.runs()
    return Rankings({system: runs[system] for system in tested.panel.systems}, one.collection, one.documents)
