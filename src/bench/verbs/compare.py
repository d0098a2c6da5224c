"""What `compare` is asked of folders, found: their systems at one measure and k, or one before and one after."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

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
from bench.verbs.tested import Tested, tested

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


def _of_sweep(asked: Request, one: Opened) -> Overview:
    here = _tested(asked, one.panel, one.name)
    return overview(
        here.panel,
        asked.measure,
        k=here.k,
        rankings=_rankings(one, here),
        reranked=one.without_reranker(),
        alpha=asked.alpha,
        worth_finding=asked.worth_finding,
        notes=(*one.notes, *here.notes),
    )


def _against(asked: Request, one: Opened) -> BeforeAfter:
    here = _tested(asked, one.panel, one.name)
    for system in filter(None, (asked.baseline, asked.system)):
        if system not in here.panel.systems:
            raise BenchError(f"{one.name}: {system} has no value of {asked.measure.at(here.k)}")
    return before_after(
        here.panel,
        asked.measure,
        k=here.k,
        baseline=str(asked.baseline),
        system=asked.system,
        also=_also(asked, here, one),
        rankings=_rankings(one, here),
        alpha=asked.alpha,
        worth_finding=asked.worth_finding,
        notes=(*one.notes, *here.notes),
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
    here = _tested(asked, panel, before.name)
    notes = [*before.notes, *after.notes, *here.notes]
    if before.digests["corpus"] != after.digests["corpus"]:
        notes.append(f"{before.name}: the documents of the two folders differ")
    return before_after(
        here.panel,
        asked.measure,
        k=here.k,
        baseline=first,
        system=second,
        also=_also(asked, here, before),
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


def _tested(asked: Request, panel: Panel, collection: str) -> Tested:
    return tested(panel, asked.measure, collection=collection, k=asked.k, ks=asked.ks)


def _also(asked: Request, tested: Tested, one: Opened) -> list[Cell]:
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


def _rankings(one: Opened, tested: Tested) -> Rankings:
    runs = one.runs()
    return Rankings({system: runs[system] for system in tested.panel.systems}, one.collection, one.documents)
