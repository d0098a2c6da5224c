"""What `python -m bench evaluate` is asked: its options, read and checked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.errors import BenchError
from bench.metrics import parse
from bench.output import form_of, refuse_unwritable
from bench.scores import Cell, Rules
from bench.verbs.arguments import Arguments, names, whole_numbers

LENSES = ("P", "R", "RR", "nDCG")
KS = (1, 3, 5, 10)
FORMS = ("table", "json", "csv", "parquet")
ENDINGS = {".txt": "table", **{f".{form}": form for form in FORMS[1:]}}
_OF_FILES = (
    "run", "collection", "k", "measures", "per_query", "format", "output", "duplicates", "no_relevant", "trec_eval",
    "intervals", "bounds", "ties",
)  # fmt: skip
"""The options that have no meaning where stored runs are scored again: those keep their k and measures."""

ABOUT = """\
Score rankings that any system made, or score the stored runs of a folder again on other judgements."""

EXAMPLES = """\
examples:
  python -m bench evaluate --qrels qrels.txt --run bm25.trec dense.json.gz
  python -m bench evaluate --qrels qrels.tsv --run run.trec --measures nDCG@10,AP@1000,'P(rel=2)@5' --trec-eval
  python -m bench evaluate --collection aurora --run run.trec --per-query --format json -o scores.json
  python -m bench evaluate outputs/default                     after new judgements: nothing is searched
  python -m bench evaluate outputs/default --qrels qrels.tsv

Judgements: TREC, BEIR TSV, JSON or Parquet. Runs: TREC, JSON, Parquet, a job's folder under outputs/ or a whole
folder of jobs. Each may be gzipped. Equal scores go by document id, the later id first.
Exit codes: 0 done, 2 asked wrongly (then nothing has been written).
"""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be scored, by which rules, and how it is told."""

    folder: Path | None
    """The stored runs that are to be scored again; else `runs` are scored and nothing is stored."""
    qrels: Path | None
    collection: str | None
    """A collection that the judgements belong to, by name or folder; its own where `qrels` is None."""
    runs: tuple[Path, ...]
    rules: Rules
    duplicates: Literal["refuse", "keep-first"]
    form: str
    output: Path | None
    per_query: bool
    beside: tuple[str, ...]
    """What the table shows under each mean: `intervals`, `bounds`, `ties`."""


def request(words: Sequence[str]) -> Request:
    """The request that the words make; BenchError says what is wrong with them."""
    arguments = _arguments()
    given = arguments.read(words)
    if given.folder is not None:
        useless = [name for name in _OF_FILES if getattr(given, name)]
        if useless:
            option = "--" + useless[0].replace("_", "-")
            arguments.error(
                f"{option} has no meaning for the stored runs of {given.folder}: they are scored at the k and by "
                f"the measures that they have; to score them otherwise, --run {given.folder} --qrels FILE"
            )
    elif not given.run:
        arguments.error("--run FILE is missing, or the folder of the stored runs that are to be scored again")
    elif given.qrels is None and given.collection is None:
        arguments.error("--qrels FILE is missing, or --collection NAME that has judgements")
    form = form_of("-o", given.output, ENDINGS, named=given.format)
    if form == "parquet" and given.output is None:
        arguments.error("--format parquet is no text: name its file by -o FILE")
    if given.output is not None:
        read = [given.qrels, *(given.run or ()), None if given.collection is None else Path(given.collection)]
        refuse_unwritable("-o", given.output, read=filter(None, read))
    return Request(
        folder=given.folder,
        qrels=given.qrels,
        collection=given.collection,
        runs=tuple(given.run or ()),
        rules=Rules(
            cells=_cells(given.measures or LENSES, given.k or KS),
            max_grade=given.max_grade,
            no_relevant_is_zero=given.no_relevant == "zero",
            trec_eval=given.trec_eval,
        ),
        duplicates=given.duplicates or "refuse",
        form=form,
        output=given.output,
        per_query=given.per_query,
        beside=tuple(name for name in ("intervals", "bounds", "ties") if getattr(given, name)),
    )


def _arguments() -> Arguments:
    made = Arguments("evaluate", about=ABOUT, examples=EXAMPLES)
    add = made.add_argument
    add("folder", nargs="?", type=Path, metavar="outputs/NAME", help="stored runs to score again, in place")
    add("--qrels", type=Path, metavar="FILE", help="the judgements")
    add("--run", type=Path, nargs="+", action="extend", metavar="FILE", help="rankings; any number of files")
    add(
        "--collection",
        metavar="NAME",
        help="the collection judged, by name or folder: brings judgements, parts, ids",
    )
    add("--k", type=whole_numbers, metavar="K,K", help="the cut-offs (1,3,5,10)")
    add(
        "--measures", type=names, metavar="M,M",
        help="P,R,RR,nDCG where nothing is said; AP, Rprec, 'P(rel=2)' ..., or with a cut-off of its own: nDCG@20",
    )  # fmt: skip
    add("--per-query", action="store_true", help="the value of every query too")
    add("--format", choices=FORMS, help="how the result is written (table, or as the name of -o ends)")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to: .txt, .json, .csv, .parquet (the terminal)",
    )
    add(
        "--duplicates",
        choices=("keep-first",),
        help="keep the first place of a document that a ranking names twice",
    )
    add(
        "--no-relevant",
        choices=("zero",),
        help="count a query without a relevant document as 0, not as left out",
    )
    add("--trec-eval", action="store_true", help="by the rules of trec_eval where they are not ours")
    add("--max-grade", type=_grade, metavar="G", help="the top of the scale of grades, for ERR and bounds")
    add("--intervals", action="store_true", help="in the table, the 95 %% interval of every mean")
    add(
        "--bounds",
        action="store_true",
        help="in the table, the least and the most that unjudged documents allow",
    )
    add("--ties", action="store_true", help="in the table, what other orders of equal scores would give")
    return made


def _cells(measures: Sequence[str], ks: Sequence[int]) -> tuple[Cell, ...]:
    """The measures at their own cut-offs, or else at all of `ks`; every one once, in the order asked."""
    cells: list[Cell] = []
    problems = []
    for name in measures:
        try:
            measure, k = parse(name)
        except BenchError as error:
            problems.append(f"--measures: {error}")
            continue
        cells += [(measure, cut) for cut in ((k,) if k or not measure.has_k else ks)]
    if problems:
        raise BenchError("\n".join(problems))
    return tuple(dict.fromkeys(cells))


def _grade(text: str) -> float:
    try:
        grade = float(text)
    except ValueError:
        grade = 0.0
    if not 0 < grade < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return grade
