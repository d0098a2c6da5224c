"""A before and after, told: the answer first, each measure a row, then the queries that moved most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.statistics.before_after import BeforeAfter
from bench.statistics.change import Change
from bench.tables.blocks import Block, Line, Rows, cut
from bench.tables.overview import p_figure, span

TEXT = 62
"""So many characters of a query are shown."""
EXPLORATORY = "°"
"""Marks the rows outside the family."""
HEAD = ("before", "after", "points", "relative", "95 %", "p", "gained/same/lost")


def change_blocks(found: BeforeAfter) -> Iterator[Block]:
    """The blocks of one collection."""
    comparison = found.comparison
    yield Line(f"{found.collection}: {comparison.outcome}", heading=True)
    if len(comparison.family) > 1:
        yield _table("system", [(one.system, one) for one in comparison.family])
        yield Line(comparison.family_sentence)
        yield Line(f"{found.system} in detail, against {comparison.baseline}", heading=True)
    yield Line(found.change.sentence)
    if found.exploratory_sentence:
        yield Line(found.exploratory_sentence)
    yield _measures(found)
    yield from map(Line, _beside(found))
    yield from _queries(found)
    yield from map(Line, found.notes)


def _measures(found: BeforeAfter) -> Rows:
    """A measure a row: that of the family, then those that are exploratory, which are marked."""
    rest = [one for one in found.comparison.exploratory if one.test.queries]
    return _table(
        "measure",
        [(found.change.measure, found.change), *((f"{one.measure} {EXPLORATORY}", one) for one in rest)],
        faint=frozenset(range(1, 1 + len(rest))),
    )


def _table(first: str, changes: Sequence[tuple[str, Change]], *, faint: frozenset[int] = frozenset()) -> Rows:
    return Rows((first, *HEAD), [(name, *_figures(change)) for name, change in changes], faint=faint)


def _figures(change: Change) -> tuple[str, ...]:
    test = change.test
    if not test.queries:
        return ("-",) * len(HEAD)
    return (
        f"{change.before:.3f}",
        f"{change.after:.3f}",
        f"{100 * change.difference:+z.1f}",
        "-" if change.relative is None else f"{100 * change.relative:+z.1f} %",
        span(change.interval, points=True),
        p_figure(change.corrected),
        f"{test.wins}/{test.ties}/{test.losses}",
    )


def _beside(found: BeforeAfter) -> Iterator[str]:
    """What is to be known of these figures, a paragraph each."""
    comparison, test = found.comparison, found.change.test
    counted = f"{test.queries} queries with {test.needs} needs"
    if test.left_out:
        counted += f" ({test.left_out} more are judged and have no value)"
    marked = f" {EXPLORATORY} {comparison.exploratory_sentence}" if comparison.exploratory_sentence else ""
    yield f"{counted}.{marked}"
    yield _power(found)
    if found.unjudged:
        turn = "no further label can change its sign" if found.unjudged.decided else "its sign is open"
        yield (
            f"Were all judged that the systems found, the difference would lie between "
            f"{100 * found.unjudged.low:+z.1f} and {100 * found.unjudged.high:+z.1f} points: {turn}."
        )
    yield (
        f"Of the top {found.k} both have {100 * found.alike.overlap:.0f} % in common (RBO {found.alike.rbo:.2f})."
    )
    if found.references:
        means = ", ".join(f"{name} {mean:.3f}" for name, mean in found.references.items())
        yield f"For comparison, {comparison.measure} of: {means}."


def _power(found: BeforeAfter) -> str:
    said = found.power.sentence
    sentence = f"{said[0].upper()}{said[1:]}."
    if found.more_needs:
        sentence += f" To find {100 * found.worth_finding:.3g} points takes {found.more_needs} more needs."
    return sentence


def _queries(found: BeforeAfter) -> Iterator[Block]:
    for name, moved in (("gained", found.moved.gained), ("lost", found.moved.lost)):
        if moved:
            yield Line(f"The queries that {name} most ({found.comparison.measure})", heading=True)
            rows = [
                (one.query, f"{one.before:.3f}", f"{one.after:.3f}", cut(found.texts[one.query], most=TEXT))
                for one in moved
            ]
            yield Rows(("query", "before", "after", "text"), rows, words=1)
