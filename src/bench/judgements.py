"""The log of judgements: who judged which pair, when and how. It is only added to; qrels and parts derive from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.qrels import Qrels


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """One reading of one pair."""

    time: str
    assessor: str
    query_id: str
    doc_id: str
    grade: float
    part: str | None = None
    note: str | None = None
    seconds: float | None = None
    targeted: bool = False


def read_log(path: Path) -> list[Judgement]:
    """Every judgement of a log, in its order; BenchError names the line that is damaged."""
    judgements = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            try:
                judgements.append(Judgement(**json.loads(line)))
            except (ValueError, TypeError) as error:
                raise BenchError(f"{path}:{number}: not a judgement ({error})") from error
    return judgements


def qrels_of(log: Iterable[Judgement], *, assessors: Sequence[str]) -> Qrels:
    """The qrels of a log: for each pair the grade of the last of these assessors who read it.

    `assessors` go from the least to the most trusted; a later judgement of one assessor replaces his earlier
    one. A document covers the part that its deciding judgement names, where its grade answers the query.
    """
    order = {assessor: place for place, assessor in enumerate(assessors)}
    decided: dict[tuple[str, str], Judgement] = {}
    for judgement in log:
        if judgement.assessor not in order:
            continue
        pair = (judgement.query_id, judgement.doc_id)
        before = decided.get(pair)
        if before is None or order[judgement.assessor] >= order[before.assessor]:
            decided[pair] = judgement
    grades: dict[str, dict[str, float]] = {}
    parts: dict[str, dict[str, list[str]]] = {}
    for (query, doc), judgement in sorted(decided.items()):
        grades.setdefault(query, {})[doc] = judgement.grade
        if judgement.part is not None and judgement.grade >= 2:
            parts.setdefault(query, {}).setdefault(judgement.part, []).append(doc)
    several: Mapping[str, Mapping[str, list[str]]] = {q: ps for q, ps in parts.items() if len(ps) > 1}
    return Qrels.of(grades, parts=several)
