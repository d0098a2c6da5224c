"""What the page shows of one collection, in the order in which it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from bench.report.charts import curves_chart
from bench.report.fronts import FrontView, front_views
from bench.report.looks import Look, looks
from bench.report.rows import (
    CellRow,
    Place,
    ReferenceRow,
    SliceKey,
    cell_rows,
    places,
    reference_rows,
    slice_keys,
)
from bench.report.sentences import answer_sentences
from bench.report.steps import Matrix, matrix
from bench.report.words import Words
from bench.statistics.findings import LATENCY, NEXT_K, RERANKER, TOKENS, Figure, Findings


@dataclass(frozen=True, eq=False)
class View:
    """One collection in the words of a language."""

    facts: Findings
    words: Words

    @cached_property
    def scope(self) -> str:
        """How much there is, in a line."""
        size = self.facts.size
        return self.words(
            "scope",
            queries=size.judged_queries,
            needs=size.needs,
            systems=len(self.facts.systems),
            ks=", ".join(map(str, self.facts.ks)),
            documents=self.words.count(size.documents),
        )

    @cached_property
    def answer(self) -> tuple[str, ...]:
        """The sentences that come first."""
        return answer_sentences(self.facts.answer, self.words)

    @cached_property
    def places(self) -> Sequence[Place]:
        """The systems by mean, the highest first; none where there is nothing to compare."""
        return places(self.facts, self.words)

    @cached_property
    def standing_caption(self) -> str:
        """What the table of places is of."""
        if self.facts.overview is None:
            return ""
        found = self.facts.overview.standings
        return self.words("standing_caption", measure=found.measure, queries=found.queries, needs=found.needs)

    @cached_property
    def winner(self) -> str:
        """What the first place is worth; empty where there is no choice among several."""
        found = self.facts.overview.standings.winner if self.facts.overview else None
        if found is None or len(self.places) < 2:
            return ""
        interval = found.interval
        figure = Figure(
            mean=found.score, lo=interval.lo if interval else None, hi=interval.hi if interval else None
        )
        return self.words("winner", figure=self.words.figure(figure))

    @cached_property
    def measures(self) -> Sequence[str]:
        """Those that can be switched to: the lenses, Complete, and that of the tests."""
        wanted = (*self.facts.lenses, "complete", self.facts.measure)
        return [name for name in self.facts.measures if name in wanted]

    @cached_property
    def first(self) -> str:
        """Which is shown first: that on which k is advised, for it may be compared across k."""
        return self.facts.deciding if self.facts.deciding in self.measures else self.measures[0]

    @cached_property
    def groups(self) -> Sequence[tuple[str, Sequence[str]]]:
        """The measures by whether they may be compared across k."""
        across = [name for name in self.measures if name in self.facts.across_k]
        rest = [name for name in self.measures if name not in self.facts.across_k]
        return [(name, group) for name, group in (("across", across), ("at_one", rest)) if group]

    @cached_property
    def looks(self) -> Mapping[str, Look]:
        """How each system is drawn; those that only failed too."""
        others = (cell.system for cell in self.facts.cells if cell.system not in self.facts.systems)
        return looks([*self.facts.systems, *dict.fromkeys(others)], self.facts.cells, self.facts.steps)

    @cached_property
    def numbers(self) -> Mapping[tuple[str, int], int]:
        """The number of each cell, by which the scripts know it."""
        return {(cell.system, cell.k): i for i, cell in enumerate(self.facts.cells)}

    @cached_property
    def curves(self) -> Mapping[str, Markup]:
        """Quality against k, by measure."""
        return {
            name: curves_chart(
                [curve for curve in self.facts.curves if curve.measure == name],
                looks=self.looks,
                cells=self.numbers,
                words=self.words,
            )
            for name in self.measures
        }

    def fronts(self, name: str) -> Sequence[tuple[str, Sequence[FrontView]]]:
        """Quality against each cost that was measured, at every k apart or at all together."""
        found = [
            (
                cost,
                front_views(
                    [front for front in self.facts.fronts if (front.measure, front.cost) == (name, cost)],
                    looks=self.looks,
                    cells=self.numbers,
                    words=self.words,
                ),
            )
            for cost in (LATENCY, TOKENS)
        ]
        return [(cost, views) for cost, views in found if views]

    def front_ks(self, name: str) -> Sequence[int]:
        """The k between which the fronts of a measure are switched; none where one front is of all k."""
        return sorted(
            {front.k for front in self.facts.fronts if front.measure == name and front.k is not None}
        )

    def k_steps(self, name: str) -> Matrix | None:
        """What each k adds to the one before."""
        return matrix([s for s in self.facts.steps if s.kind == NEXT_K and s.measure == name], self.facts)

    def reranker_steps(self, name: str) -> Matrix | None:
        """What each reranker adds, at every k."""
        return matrix([s for s in self.facts.steps if s.kind == RERANKER and s.measure == name], self.facts)

    @cached_property
    def among(self) -> int:
        """How many steps were tested together."""
        return max((step.among for step in self.facts.steps), default=0)

    @cached_property
    def columns(self) -> Sequence[str]:
        """The measures of the table of all cells."""
        return self.measures

    @cached_property
    def rows(self) -> Sequence[CellRow]:
        """Every cell."""
        return cell_rows(self.facts, self.columns)

    @cached_property
    def references(self) -> Sequence[ReferenceRow]:
        """The reference systems below them, at the k of the tests."""
        return reference_rows(self.facts, self.columns, self.words)

    @cached_property
    def cells_note(self) -> str:
        """How the table is read."""
        facts, words = self.facts, self.words
        if not facts.significance:
            return words("cells_plain")
        alpha = next(iter(facts.significance.values())).alpha
        return words(
            "cells_note",
            marks=words("mark_up"),
            baseline=facts.baseline,
            measure=facts.printed,
            k=facts.k,
            alpha=words.tick(alpha),
        )

    @cached_property
    def legend(self) -> Sequence[str]:
        """What the marks say that stand in the table."""
        shown = {mark for cell in self.facts.cells for one in cell.values.values() for mark in one.marks}
        said = (("~", "mark_ties"), ("?", "mark_unjudged"))
        return [self.words(text) for mark, text in said if mark in shown]

    @cached_property
    def slices(self) -> Sequence[SliceKey]:
        """The same by what the metadata of the queries says."""
        return slice_keys(self.facts, self.measures, self.words)

    @cached_property
    def sides(self) -> tuple[str, str]:
        """The two systems that are open at first: the highest, and what it is best held against."""
        facts = self.facts
        order = [place.system for place in self.places] or list(facts.systems)
        first = order[0]
        pairs = {step.system: step.without for step in facts.steps if step.without}
        other = pairs.get(first) or (facts.baseline if facts.baseline != first else None)
        return first, other or next((system for system in order if system != first), first)

    @cached_property
    def parts(self) -> Sequence[str]:
        """The sections there are."""
        there = {
            "tradeoff": True,
            "steps": bool(self.facts.steps),
            "cells": True,
            "slices": bool(self.slices),
            "queries": bool(self.facts.ranked),
        }
        return [name for name, here in there.items() if here]
