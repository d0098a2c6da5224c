"""The model card of a trained reranker, out of what its folder records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.rerankers import adapter, cross_fit
from bench.training.held_out import DEPTH, Gain, K


def card(folder: Path, gains: Sequence[Gain]) -> str:
    """The card as Markdown."""
    names = sorted(path.parent for path in folder.glob(f"**/{adapter.FACTS}"))
    records = [json.loads((name / adapter.FACTS).read_text(encoding="utf-8")) for name in names]
    return "\n".join([*_head(folder, records), *_course(names, records), *_worth(gains), ""])


def gain_lines(gains: Sequence[Gain]) -> list[str]:
    """What the reranker is worth behind each first stage, a line each."""
    if not gains:
        return ["no question was held out, so nothing can be said of what it is worth"]
    heads = ("first stage", "mixed in", f"nDCG@{K}", "reranked", "gain (95 %)", "p", "least shown")
    rows = [
        (
            gain.first_stage,
            f"{gain.interpolate:g}",
            f"{gain.before:.3f}",
            f"{gain.after:.3f}",
            f"{gain.after - gain.before:+.3f}"
            + (f" [{gain.interval.lo:+.3f}, {gain.interval.hi:+.3f}]" if gain.interval else ""),
            "< .001" if gain.p < 0.001 else f"{gain.p:.3f}",
            "-" if gain.detectable is None else f"{gain.detectable:.3f}",
        )
        for gain in gains
    ]
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    ]
    return [
        f"{gains[0].queries} questions that it did not see, the first {DEPTH} candidates reranked:",
        *table,
        "p by the paired randomisation test over needs, corrected by Holm; least shown: the smallest difference that",
        "these questions would show 4 times in 5",
    ]


def _head(folder: Path, records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    first = records[0]
    data, base = first["collection"], first["base"]
    yield f"# A reranker trained on {data['name']}"
    yield ""
    yield (
        f"A cross-encoder over {first['base_identity']}: the layers below the last {base['together']} read question "
        "and document apart and are those of the base; the others, trained, read both together. Made by "
        "`python -m bench train reranker`."
    )
    yield ""
    if (folder / cross_fit.FACTS).is_file():
        yield (
            f"Cross-fitted: {len(records)} adapters, each for the questions that were held out while it was trained. "
            "They score no other question."
        )
        yield ""
    yield f"- data: {data['name']}, corpus {data['corpus']}, queries {data['queries']}, qrels {data['qrels']}"
    yield f"- settings: {', '.join(f'{name}={_plain(value)}' for name, value in first['settings'].items())}"
    yield ""


def _course(names: Sequence[Path], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "| adapter | seed | lists | pairs | held out | steps | minutes | nDCG@5 that says when to stop |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, record in zip(names, records, strict=True):
        curve = ", ".join(f"{figure:.3f}" for _, figure in record["tests"])
        yield (
            f"| {name.name} | {record['seed']} | {record['questions']} | {record['pairs']} | {record['held_out']} | "
            f"{record['steps']} | {record['seconds'] / 60:.0f} | {curve} |"
        )
    yield ""


def _worth(gains: Sequence[Gain]) -> Iterator[str]:
    yield "## What it is worth"
    yield ""
    yield from ("    " + line for line in gain_lines(gains))


def _plain(value: Any) -> str:
    return "null" if value is None else str(value)
