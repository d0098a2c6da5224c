"""What `compare` found as tidy records: lists of one kind each, the same keys in every record of a list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from bench.statistics.advice import KAdvice
from bench.statistics.before_after import BeforeAfter
from bench.statistics.change import Change
from bench.statistics.intervals import Interval
from bench.statistics.overview import Overview
from bench.statistics.power import Power
from bench.statistics.rankings import Alike, Unjudged

Record = dict[str, Any]
LISTS = (
    "systems", "winners", "pairs", "advice", "rerankers", "changes", "queries", "references", "sentences", "notes",
)  # fmt: skip


def records(found: Sequence[Overview | BeforeAfter]) -> dict[str, list[Record]]:
    """Every list by its name, empty where nothing of its kind was found; what is unknown is None."""
    lists: dict[str, list[Record]] = {name: [] for name in LISTS}
    for one in found:
        made = _of_sweep(one) if isinstance(one, Overview) else _of_change(one)
        for name, rows in made.items():
            lists[name] += [{"collection": one.collection, **row} for row in rows]
        lists["references"] += [
            {"collection": one.collection, "reference": name, "measure": one.measure, "mean": mean}
            for name, mean in one.references.items()
        ]
        lists["notes"] += [{"collection": one.collection, "note": note} for note in one.notes]
    return lists


def _of_sweep(found: Overview) -> dict[str, list[Record]]:
    standings, measure = found.standings, found.measure
    advice = list(found.advice.items())
    sentences = [("sweep", found.sentence), ("set", standings.sentence)]
    if standings.winner:
        sentences.append(("winner", standings.winner.sentence))
    sentences += [(f"k of {system}", one.sentence) for system, one in advice]
    sentences += [(f"reranker of {one.system}", one.verdict.sentence) for one in found.reranked]
    return {
        "systems": list(_systems(found)),
        "winners": [_winner(found)] if standings.winner else [],
        "pairs": list(_pairs(found)),
        "advice": [row for system, one in advice for row in _advice(system, one)],
        "rerankers": [
            {
                "without": one.without,
                "system": one.system,
                "measure": measure,
                "before": one.before,
                "after": one.after,
                "difference": _known(one.verdict.evidence.difference),
                **_ends(one.verdict.evidence.interval),
                "verdict": one.verdict.kind,
                "epsilon": one.verdict.evidence.epsilon,
                "p_corrected": one.corrected,
                "correction": "Benjamini-Hochberg",
                "among": one.among,
                "exploratory": True,
            }
            for one in found.reranked
        ],
        "sentences": [{"about": about, "sentence": sentence} for about, sentence in sentences],
    }


def _systems(found: Overview) -> Iterator[Record]:
    standings = found.standings
    for place in standings.places:
        yield {
            "system": place.system,
            "measure": found.measure,
            "mean": place.mean,
            **_ends(found.intervals[place.system]),
            "p_best": place.p,
            "correction": "Holm",
            "family": len(standings.places),
            "alpha": found.alpha,
            "can_be_best": place.can_be_best,
            "best_share": place.best_share,
            "queries": standings.queries,
            "needs": standings.needs,
            "left_out": standings.left_out,
        }


def _winner(found: Overview) -> Record:
    winner, places = found.standings.winner, found.standings.places
    if winner is None:
        return {}
    return {
        "system": places[0].system,
        "measure": found.measure,
        "apparent": winner.apparent,
        "score": winner.score,
        **_ends(winner.interval),
    }


def _pairs(found: Overview) -> Iterator[Record]:
    for one in found.behind:
        turned = one.unjudged and Unjudged(-one.unjudged.high, -one.unjudged.low, one.unjudged.decided)
        yield {
            "system": one.system,
            "against": found.standings.places[0].system,
            "measure": found.measure,
            "difference": -one.difference,
            **_power(one.power, found.worth_finding),
            **_unjudged(turned),
            **_alike(one.alike, found.k),
        }


def _advice(system: str, advice: KAdvice) -> Iterator[Record]:
    """A record a k: what it loses against the largest."""
    for one in advice.smaller:
        yield {
            "system": system,
            "measure": f"{advice.measure}@{one.k}",
            "k": one.k,
            "largest": advice.largest,
            "loss": _known(one.loss),
            "loss_below": None if one.evidence.bound is None else -one.evidence.bound,
            "epsilon": one.evidence.epsilon,
            "verdict": one.kind,
            "advised": advice.k,
            "exploratory": True,
        }


def _of_change(found: BeforeAfter) -> dict[str, list[Record]]:
    comparison = found.comparison
    sentences = [("family", comparison.sentence), ("change", found.change.sentence)]
    if found.exploratory_sentence:
        sentences.append(("exploratory", found.exploratory_sentence))
    sentences.append(("power", found.power.sentence))
    queries = [*found.moved.gained, *found.moved.lost]
    return {
        "changes": [
            _change(comparison.baseline, one) for one in (*comparison.family, *comparison.exploratory)
        ],
        "pairs": [
            {
                "system": found.system,
                "against": comparison.baseline,
                "measure": found.measure,
                "difference": found.change.difference,
                **_power(found.power, found.worth_finding),
                **_unjudged(found.unjudged),
                **_alike(found.alike, found.k),
            }
        ],
        "queries": [
            {
                "system": found.system,
                "baseline": comparison.baseline,
                "measure": found.measure,
                "query_id": one.query,
                "need": one.need,
                "before": one.before,
                "after": one.after,
                "difference": one.difference,
                "text": found.texts[one.query],
            }
            for one in queries
        ],
        "sentences": [{"about": about, "sentence": sentence} for about, sentence in sentences],
    }


def _change(baseline: str, change: Change) -> Record:
    test = change.test
    return {
        "baseline": baseline,
        "system": change.system,
        "measure": change.measure,
        "before": _known(change.before),
        "after": _known(change.after),
        "difference": _known(change.difference),
        "relative": change.relative,
        **_ends(change.interval),
        "p": test.p if test.queries else None,
        "p_corrected": _known(change.corrected),
        "correction": "Benjamini-Hochberg" if change.exploratory else "Holm",
        "among": change.among,
        "alpha": change.alpha,
        "exploratory": change.exploratory,
        "significant": change.significant,
        "direction": change.direction,
        "same_documents": change.same_documents,
        "gained": test.wins,
        "same": test.ties,
        "lost": test.losses,
        "queries": test.queries,
        "needs": test.needs,
        "left_out": test.left_out,
        "sentence": change.sentence,
    }


def _ends(interval: Interval | None) -> Record:
    return {"lo": interval and interval.lo, "hi": interval and interval.hi}


def _power(power: Power, worth_finding: float) -> Record:
    """`detectable` is None too where no difference could be found; the note says it."""
    return {
        "detectable": _known(power.detectable),
        "level": power.level,
        "needs": power.needs,
        "worth_finding": worth_finding,
        "more_needs": power.more_needs_for(worth_finding),
        "power_note": power.sentence,
    }


def _unjudged(unjudged: Unjudged | None) -> Record:
    if unjudged is None:
        return {"low": None, "high": None, "decided": None}
    return {"low": unjudged.low, "high": unjudged.high, "decided": unjudged.decided}


def _alike(alike: Alike, k: int) -> Record:
    return {"k": k, "overlap": alike.overlap, "rbo": alike.rbo}


def _known(value: float | None) -> float | None:
    """JSON has no word for what is no number."""
    return value if value is not None and math.isfinite(value) else None
