"""What `python -m bench gate` is asked: its rules and where they apply, read and checked."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bench.errors import BenchError, did_you_mean
from bench.grid import GRID, MEASURE_COLUMNS
from bench.measure import Measure
from bench.metrics import MEASURES, parse
from bench.output import refuse_unwritable
from bench.statistics.rules import Kind, Rule
from bench.verbs.arguments import Arguments

ABOUT = """\
Hold one system of a folder to rules, for a build server: a line a rule, exit code 1 where one is breached."""

EXAMPLES = """\
examples:
  python -m bench gate outputs/default --system hybrid --min nDCG@5=0.70 --min-lo nDCG@5=0.60
  python -m bench gate outputs/default --system hybrid --k 5 --min R=0.65 --max latency_p95_ms=50
  python -m bench gate outputs/new --system hybrid --against outputs/old --no-worse-than nDCG@5=0.02
  python -m bench gate outputs/default --system hybrid --min nDCG@5=0.70 --junit gate.xml --markdown gate.md

A rule is a measure at a k, or any figure of the grid by its column (docs/schema.md), and its limit; rules can be
repeated. --no-worse-than is kept where the loss is shown to be under the limit (one-sided, 95 %), breached where it is
shown to be over it, else undecided: then more queries are needed, or --undecided pass.
Exit codes: 0 every rule is kept, 1 one is breached or undecided, 2 asked wrongly.
"""
NUMBERS = tuple(
    column.name for column in GRID if pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
)
"""The columns of the grid that a rule can be about."""
KINDS: tuple[Kind, ...] = ("min", "min-lo", "max", "no-worse-than")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which system is held to which rules, and where that is written."""

    folder: Path
    system: str | None
    """None where the folder has only one."""
    k: int | None
    collection: str | None
    seed: int | None
    rules: tuple[Rule, ...]
    against: Path | None
    """The folder that `no-worse-than` is measured against."""
    against_system: str | None
    """The system there, None for the one of the same label."""
    undecided_passes: bool
    junit: Path | None
    markdown: Path | None


def request(words: Sequence[str]) -> Request:
    """The request that the words make; BenchError says everything that is wrong with the rules."""
    arguments = _arguments()
    given = arguments.read(words)
    rules = _rules(given, arguments)
    if not rules:
        arguments.error("without a rule there is nothing to hold the system to: --min nDCG@5=0.70")
    compares = any(rule.kind == "no-worse-than" for rule in rules)
    if compares and given.against is None:
        arguments.error("--no-worse-than what? --against outputs/NAME is missing")
    if given.against is not None and not compares:
        arguments.error(f"--against {given.against}: nothing is measured against it without --no-worse-than")
    _refuse_files(given)
    return Request(
        folder=given.folder,
        system=given.system,
        k=given.k,
        collection=given.collection,
        seed=given.seed,
        rules=tuple(rules),
        against=given.against,
        against_system=given.against_system,
        undecided_passes=given.undecided == "pass",
        junit=given.junit,
        markdown=given.markdown,
    )


def _refuse_files(given: argparse.Namespace) -> None:
    """BenchError where what is wanted as a file cannot be written."""
    for option, path in (("--junit", given.junit), ("--markdown", given.markdown)):
        if path is not None:
            refuse_unwritable(option, path, read=filter(None, (given.folder, given.against)))
    if given.junit is not None and given.junit == given.markdown:
        raise BenchError(f"--junit and --markdown are the same file, {given.junit}")


def _arguments() -> Arguments:
    made = Arguments("gate", about=ABOUT, examples=EXAMPLES)
    add = made.add_argument
    add("folder", type=Path, metavar="outputs/NAME", help="the folder of the system")
    add("--system", metavar="SYSTEM", help="its label (the only one)")
    add("--k", type=int, metavar="K", help="the k of rules that name none (the one that the others name)")
    add("--collection", metavar="NAME", help="one of several collections")
    add("--seed", type=int, metavar="N", help="one of several seeds (the lowest)")
    add("--min", action="append", metavar="NAME=X", help="the figure is at least X")
    add(
        "--min-lo",
        action="append",
        metavar="NAME=X",
        help="the lower end of its 95 %% interval is at least X",
    )
    add("--max", action="append", metavar="NAME=X", help="the figure is at most X")
    add("--no-worse-than", action="append", metavar="M@K=X", help="no more than X is lost against --against")
    add("--against", type=Path, metavar="outputs/NAME", help="the folder of the system as it was")
    add("--against-system", metavar="SYSTEM", help="its label there (the same)")
    add("--undecided", choices=("fail", "pass"), default="fail", help="what an undecided rule does (fail)")
    add("--junit", type=Path, metavar="FILE", help="write the outcomes as JUnit XML")
    add("--markdown", type=Path, metavar="FILE", help="write them as Markdown")
    return made


def _rules(given: argparse.Namespace, arguments: Arguments) -> list[Rule]:
    """Every rule by its kind; all that are wrong are told at once."""
    rules: list[Rule] = []
    problems: list[str] = []
    for kind in KINDS:
        for text in getattr(given, kind.replace("-", "_")) or ():
            try:
                rules.append(_rule(kind, text))
            except BenchError as error:
                problems.append(f"--{kind} {text}: {error}")
    if problems:
        arguments.error("\n".join(problems))
    return rules


def _rule(kind: Kind, text: str) -> Rule:
    name, given, value = text.rpartition("=")
    if not given or not name.strip():
        raise BenchError("it is written NAME=LIMIT, as nDCG@5=0.70")
    limit = _limit(kind, value)
    column, at, cut = name.strip().partition("@")
    if column.lower() in NUMBERS and column.lower() not in MEASURE_COLUMNS:
        if kind in ("min-lo", "no-worse-than") and f"{column.lower()}_lo" not in NUMBERS:
            raise BenchError(f"{column} has no interval")
        if at and not re.fullmatch("[0-9]+", cut):
            raise BenchError(f"'{cut}' is no k")
        if at and int(cut) == 0:
            raise BenchError(f"'{name.strip()}': a cut-off is at least 1")
        found = Rule(kind, column.lower(), None, int(cut) if at else None, limit)
    else:
        measure, k = _measure(name)
        found = Rule(kind, measure.key, measure, k, limit)
    if found.measure is not None and not 0 <= limit <= 1:
        raise BenchError(f"{found.name} is from 0 to 1, and {limit:g} is beyond it{_percent(limit)}")
    if kind == "no-worse-than" and found.measure is None:
        raise BenchError("it compares a measure query by query; hold this figure to --max or --min")
    return found


def _percent(limit: float) -> str:
    return f"; did you mean {limit / 100:g}?" if 1 < limit <= 100 else ""


def _limit(kind: Kind, text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise BenchError(f"'{text}' is no number")
    if kind == "no-worse-than" and not 0 < limit < 1:
        raise BenchError(f"{text}: a loss that would not be missed is above 0 and below 1")
    return limit


def _measure(text: str) -> tuple[Measure, int | None]:
    column = text.strip().partition("@")[0].lower()
    if "_" in column and column not in MEASURES:
        raise BenchError(f"there is no column '{column}'{did_you_mean(column, NUMBERS)}")
    measure, k = parse(text)
    if measure.key not in MEASURE_COLUMNS:
        raise BenchError(f"{measure} is not in the grid; the measures of it are those of docs/schema.md")
    return measure, k
