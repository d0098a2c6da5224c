"""Figures over all queries, as a report shows them: cells, curves, fronts, steps, slices.

A measure is named by its column in the grid (`recall`), a cell by its system and k. Numbers are not rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.metrics import MEASURES
from bench.statistics.verdicts import Verdict

ACROSS_K = tuple(name for name, measure in MEASURES.items() if measure.grows_with_k)
"""The measures that may be compared across k, for they cannot fall as k grows; the others at one k only."""
OK, FAILED, SKIPPED = "ok", "failed", "skipped"
LATENCY, TOKENS = "latency", "tokens"
"""What quality may cost: median milliseconds of a call, mean tokens of the context."""
NEXT_K, RERANKER = "k", "reranker"
"""The kinds of step: from a k to the next, from no reranker to one."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure, its 95 % interval and its marks."""

    mean: float | None
    """None where there is no value."""
    lo: float | None = None
    hi: float | None = None
    marks: str = ""
    """`~` another order of equal scores could change it, `?` what is unjudged within k could; both, or empty."""


NOTHING = Figure(mean=None)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A system at a k: what it is worth and what it costs."""

    system: str
    k: int
    status: str
    """`ok`, `failed` or `skipped`."""
    reason: str | None
    """Why it is not ok."""
    values: Mapping[str, Figure]
    """By measure, those that have a value; empty unless ok."""
    context_tokens: float | None
    latency: Figure | None
    """The median of one call, end to end, in milliseconds; None where it was not timed."""
    latency_p95: float | None
    latency_p99: float | None
    stages: Mapping[str, float]
    """The median milliseconds of each stage that was timed (encode, search, fuse, rerank); they do not add up."""
    queries: int
    """Over how many the mean of nDCG is."""
    no_relevant: int
    """Judged queries without a relevant document, left out of the means."""
    unanswered: int
    options: Mapping[str, str | None]
    """What was chosen for retriever, store, embedder, analyzer and reranker."""
    parameters: Mapping[str, Any]
    """The settings of every part."""


@dataclass(frozen=True, kw_only=True)
class Within:
    """A system under a token budget, in the place of a k. None is comparable with a cell of a k."""

    system: str
    budget: int
    values: Mapping[str, Figure]
    context_tokens: float | None
    context_chunks: float | None
    queries: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One measure of one system against k."""

    system: str
    measure: str
    across_k: bool
    """Whether its points may be compared with each other; if not, only with other systems at the same k."""
    points: tuple[tuple[int, Figure], ...]
    """k rising."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A cell as quality against cost."""

    system: str
    k: int
    quality: float
    cost: float
    cost_lo: float | None
    cost_hi: float | None
    on_front: bool
    """No other point is as good and cheaper, or better and no dearer."""
    share_on_front: float
    """In which share of the resamples of needs it is, costs held as they are; no probability."""


@dataclass(frozen=True, kw_only=True)
class Front:
    """Quality against a cost, over every k where the measure allows that, else at one."""

    measure: str
    k: int | None
    """None where the points are of every k."""
    cost: str
    """`latency` or `tokens`."""
    points: tuple[Point, ...]
    """The cheapest first; cells without this cost are left out."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one measure gains, and what it costs, from one k to the next or from no reranker to one."""

    kind: str
    """`k` or `reranker`."""
    system: str
    """Which is stepped with; of a reranker the system with it."""
    without: str | None
    """Of a reranker, the system without it."""
    from_label: str
    """`k=3`, or the system without."""
    to_label: str
    k: int
    """The larger k of the two, or the k at which a reranker is added."""
    measure: str
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    """95 %; None below 10 needs."""
    verdict: Verdict
    """Its kind and the evidence for it; `.sentence` says it in English."""
    corrected: float | None
    """p by Benjamini-Hochberg over all steps tested, exploratory; None where the measure is not the tested one."""
    among: int
    """How many steps were tested together."""
    extra_ms: float | None
    """Medians apart; None where one of the two was not timed."""
    extra_tokens: float | None

    @property
    def told_from_zero(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The queries with one value of a metadata key."""

    key: str
    value: str
    """As text; empty for the queries that lack the key."""
    queries: int
    """Those with a value of nDCG; see `Cell.queries`."""
    needs: int
    values: Mapping[tuple[str, int], Mapping[str, Figure]]
    """By (system, k) and measure; intervals at the report's measure and k alone, where there are 10 needs."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """Whether systems differ in other ways in one slice of a key than in the next."""

    key: str
    p: float | None
    """By permuting which needs lie in which slice; None with one system or too few needs."""
    corrected: float | None
    """By Benjamini-Hochberg over all keys."""
    among: int
    alpha: float

    @property
    def shown(self) -> bool:
        """Whether the slices may be spoken of one by one."""
        return self.corrected is not None and self.corrected <= self.alpha

    @property
    def sentence(self) -> str:
        """What the test says."""
        if self.corrected is None:
            return f"Whether the systems differ between values of {self.key} can't be tested."
        p = "< 0.001" if self.corrected < 0.001 else f"= {self.corrected:.3f}"
        told = f"(p {p}, Benjamini-Hochberg over {self.among} key{'s' if self.among != 1 else ''})"
        if self.shown:
            return f"How the systems compare differs between values of {self.key} more than chance explains {told}."
        return (
            f"That the systems compare otherwise for one value of {self.key} than for another is not shown {told}: "
            "the rows below are no ground to choose by."
        )
