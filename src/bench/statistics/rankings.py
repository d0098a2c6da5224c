"""What rankings say of systems beside their means: how alike they are, what unjudged documents could change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bench.collection import Collection
from bench.measure import Measure
from bench.references import references
from bench.runs import Run
from bench.similarity import overlap, rbo
from bench.unjudged.bounds import difference_bounds
from bench.unjudged.world import World


@dataclass(frozen=True)
class Unjudged:
    """How far what is not judged could move the mean difference of two systems."""

    low: float
    high: float
    decided: bool
    """No further judgement can change its sign."""


@dataclass(frozen=True)
class Alike:
    """How alike two systems rank, mean over queries."""

    overlap: float
    """The share of the top k that both have."""
    rbo: float


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rankings of systems over one vocabulary, and the judged collection that they are of."""

    runs: Mapping[str, Run]
    collection: Collection
    documents: int
    """How many the corpus has."""

    def unjudged(self, measure: Measure, one: str, other: str, *, k: int) -> Unjudged | None:
        """What could become of one minus the other, every document judged alike; None where it is not offered.

        Only documents that one of the systems has stored might be relevant.
        """
        ours, theirs = (self._world.standing(self.runs[system]) for system in (one, other))
        found = difference_bounds(measure, ours, theirs, k)
        return None if found is None or found.mean is None else Unjudged(*found.mean, found.decided)

    def alike(self, one: str, other: str, *, k: int) -> Alike:
        """Overlap@k and RBO of two systems."""
        pair = self.runs[one], self.runs[other]
        return Alike(float(overlap(*pair, k=k).mean()), float(rbo(*pair).mean()))

    def references(self, measure: Measure, *, k: int) -> dict[str, float]:
        """The means of random, popular and oracle; none of a measure beyond the lenses."""
        needs = {query.id: query.need for query in self.collection.queries}
        qrels, docs = self.collection.qrels, self.collection.doc_ids
        found = references(qrels, needs, documents=self.documents, ks=[k], docs=docs)
        return {name: means[measure.key, k] for name, means in found.items() if (measure.key, k) in means}

    @cached_property
    def _world(self) -> World:
        collection = self.collection
        return World.of_pool(list(self.runs.values()), collection.qrels, max_grade=collection.max_grade)
