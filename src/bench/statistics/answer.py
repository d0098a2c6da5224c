"""What a report says first: which system, which k, and whether the reranker is worth its milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from bench.statistics.advice import KAdvice
from bench.statistics.overview import Overview, Reranked


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The facts of the answer; `sentences` says them in English."""

    overview: Overview | None
    """None where no query has a value from every system."""
    advised: str | None
    """The system for which a k is advised: the highest; None without an advice."""
    reranked: Reranked | None
    """The reranker that is spoken of: that of the highest system, else the one that changes most."""
    extra_ms: float | None
    """What it adds to the median of a call; None where one of the two was not timed."""

    @property
    def advice(self) -> KAdvice | None:
        """On which k to take."""
        if self.overview is None or self.advised is None:
            return None
        return self.overview.advice[self.advised]

    @property
    def sentences(self) -> tuple[str, ...]:
        """One to three: what can be told from the best, which k, which reranker."""
        if self.overview is None:
            return ("No query has a value from every system, so there is nothing to compare.",)
        said = [self.overview.sentence]
        if self.advice is not None:
            said.append(f"{self.advised}: {self.advice.sentence}")
        if self.reranked is not None:
            said.append(f"{self.reranked.verdict.sentence}{self._cost}")
        return tuple(said)

    @property
    def _cost(self) -> str:
        if self.extra_ms is None:
            return ""
        return f" It adds {self.extra_ms:z.1f} ms to the median of a call."
