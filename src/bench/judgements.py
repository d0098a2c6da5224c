"""The log of judgements: who judged which pair, when and how. It is only added to; qrels and parts derive from it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lines import Problems, lines
from bench.qrels import ANSWERS, Qrels


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
    """Every judgement of a log, in its order; BenchError names every line that is none, or says that there is none."""
    judgements, problems = [], Problems()
    for number, line in lines(path, problems):
        try:
            judgements.append(_judgement(json.loads(line)))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problems.add(path, number, f"not a judgement ({error})")
    if not judgements and not problems:
        problems.add(path, 0, "it holds no judgement")
    problems.raise_any(f"the log {path.name}")
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
        if judgement.part is not None and judgement.grade >= ANSWERS:
            parts.setdefault(query, {}).setdefault(judgement.part, []).append(doc)
    several: Mapping[str, Mapping[str, list[str]]] = {q: ps for q, ps in parts.items() if len(ps) > 1}
    return Qrels.of(grades, parts=several)


def _judgement(row: Any) -> Judgement:
    """ValueError or TypeError where the row is none."""
    if not isinstance(row, dict):
        raise TypeError("a JSON object is needed")
    made = Judgement(**row)
    for name in ("assessor", "query_id", "doc_id"):
        if not isinstance(getattr(made, name), str):
            raise TypeError(f"{name} is {getattr(made, name)!r}, not a text")
    if made.part is not None and not isinstance(made.part, str):
        raise TypeError(f"part is {made.part!r}, not a text")
    if type(made.grade) not in (int, float) or not math.isfinite(made.grade):
        raise TypeError(f"grade is {made.grade!r}, not a number")
    return made
