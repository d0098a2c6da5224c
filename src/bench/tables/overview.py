"""What a sweep shows, told: the answer first, then what it stands on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.statistics.change import p_text
from bench.statistics.comparison import some
from bench.statistics.intervals import Interval
from bench.statistics.overview import Overview
from bench.statistics.power import Power
from bench.statistics.rankings import Unjudged
from bench.statistics.verdicts import UNDECIDED
from bench.tables.blocks import Block, Line, Rows


def overview_blocks(found: Overview) -> Iterator[Block]:
    """The blocks of one collection."""
    yield Line(f"{found.collection}: {found.sentence}", heading=True)
    yield _systems(found)
    yield from _of_systems(found)
    if found.behind:
        first = found.standings.places[0].system
        further = len(found.standings.places) - 1 - len(found.behind)
        named = f"the highest; {further} more are further behind" if further else "the highest"
        yield Line(f"Against {first}, {named}", heading=True)
        yield _behind(found)
        yield from _of_behind(found)
    if found.advice:
        yield Line(f"Which k, by {found.deciding}@k (exploratory)", heading=True)
        for system, advice in found.advice.items():
            yield Line(f"{system}: {advice.sentence}")
    if found.reranked:
        yield Line(f"Is the reranker worth it, by {found.measure} (exploratory)", heading=True)
        yield _reranked(found)
        yield from _of_reranked(found)
    if found.notes:
        yield from map(Line, found.notes)


def span(interval: Interval | None, *, points: bool = False) -> str:
    """An interval as it is printed, `-` where there is none; of a difference in points, with its sign."""
    if interval is None:
        return "-"
    ends = (interval.lo, interval.hi)
    return " to ".join(f"{100 * end:+z.1f}" if points else f"{end:.3f}" for end in ends)


def p_figure(p: float) -> str:
    """A p in a column: never 0."""
    return p_text(p).removeprefix("= ")


def moves(unjudged: Unjudged | None) -> str:
    """How far unjudged documents could move a difference, in points."""
    if unjudged is None:
        return "-"
    return f"{100 * unjudged.low:+z.1f} to {100 * unjudged.high:+z.1f}{'' if unjudged.decided else ' ?'}"


def detectable(could: Power) -> str:
    """The smallest difference that is found 4 times in 5, in points."""
    if could.detectable is None:
        return "-"
    return "none" if math.isinf(could.detectable) else f"{100 * could.detectable:.1f}"


def _systems(found: Overview) -> Rows:
    rows = [
        (
            place.system,
            f"{place.mean:.3f}",
            span(found.intervals[place.system]),
            p_figure(place.p),
            f"{100 * place.best_share:.0f} %",
            "yes" if place.can_be_best else "no",
        )
        for place in found.standings.places
    ]
    references = [(f"({name})", f"{mean:.3f}", "", "", "", "") for name, mean in found.references.items()]
    head = ("system", found.measure, "95 %", "p", "best in", "may be the best")
    faint = frozenset(range(len(rows), len(rows) + len(references)))
    return Rows(head, rows + references, words=1, faint=faint)


def _of_systems(found: Overview) -> Iterator[Line]:
    standings = found.standings
    counted = f"{standings.queries} queries with {standings.needs} needs"
    if standings.left_out:
        counted += f" ({standings.left_out} more are judged and have no value)"
    yield Line(
        f"{counted}. p: that no other system is better (Holm over the family of {len(standings.places)} systems); at "
        f"{found.alpha:g} or below it is not the best. best in: how often it comes out best when the needs are drawn "
        "anew; no probability."
    )
    if standings.winner and found.behind:
        said = standings.winner.sentence
        yield Line(f"{said[0].upper()}{said[1:]}.")


def _behind(found: Overview) -> Rows:
    head = (
        "system", "behind", "found from", f"needs for {_points(found.worth_finding)}", "if all were judged",
        f"Overlap@{found.k}", "RBO",
    )  # fmt: skip
    rows = [
        (
            one.system,
            f"{100 * one.difference:z.1f}",
            detectable(one.power),
            "-" if one.more_needs is None else f"+{one.more_needs}",
            moves(one.unjudged),
            f"{one.alike.overlap:.2f}",
            f"{one.alike.rbo:.2f}",
        )
        for one in found.behind
    ]
    return Rows(head, rows)


def _of_behind(found: Overview) -> Iterator[Line]:
    level = found.behind[0].power.level
    yield Line(
        f"In points. found from: a difference so large is found 4 times in 5 (two-sided, at the level {level:.2g}), a "
        f"smaller one may be missed; needs: so many more must be labelled to find "
        f"{_points(found.worth_finding)} points."
    )
    if any(one.unjudged for one in found.behind):
        open_ = [one.system for one in found.behind if one.unjudged and not one.unjudged.decided]
        turned = f"could turn the sign (?) of {some(open_)}" if open_ else "can turn no sign"
        yield Line(f"What no one has judged of all that these systems found {turned}.")


def _reranked(found: Overview) -> Rows:
    rows = [
        (
            one.system,
            f"{one.before:.3f}",
            f"{one.after:.3f}",
            f"{100 * one.verdict.evidence.difference:+z.1f}",
            span(one.verdict.evidence.interval, points=True),
            p_figure(one.corrected),
            one.verdict.kind,
        )
        for one in found.reranked
    ]
    return Rows(("with it", "without", "with", "points", "95 %", "p", "verdict"), rows, words=1)


def _of_reranked(found: Overview) -> Iterator[Line]:
    epsilon = found.reranked[0].verdict.evidence.epsilon
    yield Line(
        "Verdicts go by each interval: better or worse where it lies on one side of 0, no worse where a loss of "
        f"{_points(epsilon)} points is ruled out. p by Benjamini-Hochberg over these {len(found.reranked)}."
    )
    for one in found.reranked:
        if one.verdict.kind == UNDECIDED:
            yield Line(one.verdict.sentence)


def _points(share: float) -> str:
    """A difference in points, without a needless decimal."""
    return f"{100 * share:.3g}"
