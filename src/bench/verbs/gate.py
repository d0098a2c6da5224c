"""The rules of `gate` held against the folders: every figure looked up, and every problem told at once."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np

from bench.errors import BenchError, listing
from bench.gains import Array
from bench.measure import Measure
from bench.statistics.intervals import FEWEST
from bench.statistics.rules import BREACH, PASS, UNDECIDED, Gate, Outcome, Rule, against_limit, no_worse
from bench.timing import CALLS_NEEDED
from bench.verbs.folders import Opened, Row, matched, opened
from bench.verbs.gate_request import Request


def gated(asked: Request) -> Gate:
    """What became of every rule. BenchError where a figure that a rule is about is not there to be judged."""
    held = _held(asked)
    before = None if asked.against is None else _before(asked, held)
    outcomes: list[Outcome] = []
    problems: list[str] = []
    for rule in asked.rules:
        try:
            outcomes.append(_outcome(rule, asked, held, before))
        except BenchError as error:
            problems.append(str(error))
    if problems:
        raise BenchError("\n".join(problems))
    return Gate(
        folder=str(asked.folder),
        system=held.system,
        collection=held.opened.name,
        outcomes=tuple(outcomes),
        undecided_passes=asked.undecided_passes,
        notes=held.opened.notes,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Held:
    """One system of one folder; without a finished cell where it failed."""

    opened: Opened
    system: str

    @property
    def failed(self) -> str | None:
        """Why it has no figure at all."""
        return None if self.system in self.opened.panel.systems else self.opened.failed[self.system]

    @property
    def ks(self) -> list[int]:
        return sorted(k for system, k in self.opened.cells if system == self.system)

    def k_of(self, rule: Rule, asked: int | None) -> int:
        """The k at which the rule applies: its own, the one asked for, or the only one there is."""
        ks, named = self.ks, rule.k or asked
        if rule.measure is not None and not rule.measure.has_k:
            return ks[-1]
        there = f"its k are {listing(map(str, ks))}"
        if named is not None:
            if named not in ks:
                raise BenchError(f"{rule.name}: {self} has no k={named}; {there}")
            return named
        alike = (
            rule.measure is None and len({self.opened.cells[self.system, k][rule.column] for k in ks}) == 1
        )
        if len(ks) > 1 and not alike:
            raise BenchError(f"{rule.name} of {self}: at which k? {there} (--k K, or {rule.name}@K)")
        return ks[-1]

    def values(self, rule: Rule, measure: Measure, k: int) -> Array:
        """What the system has on each query, NaN where there is nothing."""
        if k not in self.ks:
            raise BenchError(f"{rule.name}: {self} has no k={k}; its k are {listing(map(str, self.ks))}")
        panel = self.opened.panel
        values = panel.at(measure, k)[:, panel.column(self.system)]
        if np.isnan(values).all():
            raise BenchError(f"{rule.name}: {self} has no value of it on any query")
        return values

    def __str__(self) -> str:
        return f"{self.system} of {self.opened.folder}"


def _held(asked: Request) -> _Held:
    """The system that the rules are for."""
    every = opened(asked.folder, collection=asked.collection, seed=asked.seed)
    if len(every) > 1:
        raise BenchError(
            f"{asked.folder} holds several collections: {listing(one.name for one in every)}; --collection NAME"
        )
    one = every[0]
    labels = sorted({*one.panel.systems, *one.failed})
    if asked.system is None and len(labels) > 1:
        raise BenchError(f"which system of {asked.folder}? --system SYSTEM: {listing(labels)}")
    system = asked.system or labels[0]
    if system not in one.failed:
        one.refuse_unknown(system)
    return _Held(one, system)


def _before(asked: Request, held: _Held) -> _Held | None:
    """The system that nothing may be lost against, on the same queries and judgements."""
    if asked.against is None:
        return None
    others = opened(asked.against, collection=held.opened.name, seed=asked.seed)
    ((_, old),) = matched([held.opened], others)
    label = asked.against_system or held.system
    old.refuse_unknown(label)
    return _Held(old, label)


def _outcome(rule: Rule, asked: Request, held: _Held, before: _Held | None) -> Outcome:
    if held.failed is not None:
        return Outcome(rule, BREACH, f"no figure: {held.failed}")
    named = {rule.k for rule in asked.rules if rule.k is not None}
    k = held.k_of(rule, asked.k or (min(named) if len(named) == 1 else None))
    at = dataclasses.replace(rule, k=k)
    if before is not None and rule.kind == "no-worse-than" and rule.measure is not None:
        return _against(at, rule.measure, k, held=held, before=before)
    row = held.opened.cells[held.system, k]
    value = row[f"{rule.column}_lo" if rule.kind == "min-lo" else rule.column]
    if value is not None and not math.isnan(value):
        return against_limit(at, float(value))
    if why := _too_few(at, row):
        return Outcome(at, UNDECIDED, why)
    untimed = ": its command ran with timing=off" if rule.column.startswith("latency_") else ""
    raise BenchError(f"{at.name} was not measured for {held}{untimed}; a rule about it can't be held")


def _against(rule: Rule, measure: Measure, k: int, *, held: _Held, before: _Held) -> Outcome:
    """Unchanged is unchanged, however few queries there are: the same system on the same documents."""
    now, then = held.opened, before.opened
    differences = held.values(rule, measure, k) - before.values(rule, measure, k)
    same = now.identities[held.system] == then.identities[before.system] and now.digests == then.digests
    if same and not (np.abs(differences) > 0).any():
        return Outcome(rule, PASS, "the same system on the same documents, and the same value on every query")
    return no_worse(rule, differences, now.panel.needs, against=str(before))


def _too_few(rule: Rule, row: Row) -> str | None:
    """Why a figure is null though it was measured, None where it was not."""
    if rule.kind == "min-lo" and row[rule.column] is not None:
        return f"{row[rule.column]:.4g}, and too few needs for an interval: {FEWEST} are the least"
    percentile = re.fullmatch(r"latency_(p\d+)_ms", rule.column)
    if percentile and row["latency_p50_ms"] is not None:
        return f"too few calls were timed: {percentile[1]} takes {CALLS_NEEDED[percentile[1]]}"
    return None
