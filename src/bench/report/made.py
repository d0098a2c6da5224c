"""How the results were made, laid out: enough to make them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.report.words import NOTHING, Words
from bench.statistics.findings import Provenance, Report


@dataclass(frozen=True)
class Block:
    """A heading with pairs or lines."""

    name: str
    pairs: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()
    text: str = ""


@dataclass(frozen=True)
class Made:
    """The last section of the page."""

    codes: Sequence[Block]
    facts: Sequence[Block]
    lists: Sequence[Block]
    configs: Sequence[tuple[str, str]]
    foot: str


def made(report: Report, words: Words) -> Made:
    """The command, versions, machine, digests, what was left out, and each system's configuration."""
    source = report.provenance
    facts = [
        Block(words("when"), _when(source, words)),
        Block(words("machine"), _pairs(source.machine)),
        Block(words("versions"), _pairs(source.versions)),
        *(
            Block(f"{words('digests')}: {collection}", _pairs(digests))
            for collection, digests in source.digests.items()
        ),
        *(Block(f"{words('sizes')}: {one.collection}", _sizes(one.size, words)) for one in report.findings),
    ]
    out = [*source.left_out, *_no_relevant(report, words)]
    lists = [Block(words("left_out_means"), lines=out or [words("nothing_left_out")])]
    notes = [*source.notes, *(note for one in report.findings for note in one.notes)]
    if notes:
        lists.append(Block(words("notes"), lines=list(dict.fromkeys(notes))))
    return Made(
        codes=[Block(words("command"), text=source.command)] if source.command else [],
        facts=[block for block in facts if block.pairs],
        lists=lists,
        configs=list(source.configs.items()),
        foot=words("made_with", version=source.versions.get("bench", "")).strip(),
    )


def _when(source: Provenance, words: Words) -> list[tuple[str, str]]:
    seeds = ", ".join(map(str, source.seeds))
    given = (
        (words("folder"), source.folder),
        (words("started"), source.started),
        (words("finished"), source.finished),
        (words("seeds"), seeds),
        (words("schema"), str(source.schema_version)),
    )
    return [(name, value) for name, value in given if value]


def _no_relevant(report: Report, words: Words) -> list[str]:
    """Queries that no mean counts."""
    counted = (
        (one.collection, max((cell.no_relevant for cell in one.cells), default=0)) for one in report.findings
    )
    return [words("no_relevant", collection=name, count=count) for name, count in counted if count]


def _sizes(size: Any, words: Words) -> list[tuple[str, str]]:
    names = ("documents", "queries", "judged_queries", "needs", "judgements")
    return [(words(f"size_{name}"), words.count(getattr(size, name))) for name in names]


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(str(name), NOTHING if value is None else str(value)) for name, value in values.items()]
