"""What `python -m bench report` is asked: its options, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError, did_you_mean, listing
from bench.measure import Measure
from bench.metrics import MEASURES
from bench.output import refuse_unwritable
from bench.verbs.arguments import Arguments, kept_measure, names, share

FORMS = ("html", "md", "tex", "csv", "parquet", "png", "svg")
LANGUAGES = ("en", "es")

ABOUT = """\
What a folder of results shows, to be read and copied from: one HTML page with the answer, quality against k and
cost, every cell, slices and each query's rankings; tables for papers (Markdown, LaTeX, CSV, Parquet); plots."""

EXAMPLES = """\
examples:
  python -m bench report outputs/default                               outputs/default/report.html
  python -m bench report outputs/default -o page.html --lang es
  python -m bench report outputs/default --format md,tex,png           report.md, report.tex and plots beside it
  python -m bench report outputs/default --format tex -o table.tex --rows bm25,hybrid --columns P,R,nDCG

Nothing is searched: it needs the files in the folder alone. --measure and --baseline are to be chosen before the
results are seen.
Exit codes: 0 done, 2 asked wrongly (then nothing has been written).
"""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be told of a folder, in which forms, and where to."""

    folder: Path
    output: Path | None = None
    """None for `report` in the folder; of several forms each has its own ending."""
    forms: tuple[str, ...] = ("html",)
    lang: str = "en"
    measure: Measure = MEASURES["ndcg"]
    k: int | None = None
    """The cut-off of the tests; None for the swept one nearest to 5."""
    baseline: str | None = None
    """None for the first system without a reranker."""
    rows: tuple[str, ...] | None = None
    """The systems of tables, in this order; None for all."""
    columns: tuple[str, ...] | None = None
    """The measures of tables by their column in the grid, in this order; None for the usual ones."""
    collection: str | None = None
    seed: int | None = None
    alpha: float = 0.05

    @property
    def paths(self) -> dict[str, Path]:
        """Where each form is written."""
        if self.output is None:
            return {form: self.folder / f"report.{form}" for form in self.forms}
        if len(self.forms) == 1:
            return {self.forms[0]: self.output}
        return {form: self.output.with_suffix(f".{form}") for form in self.forms}


def request(words: Sequence[str]) -> Request:
    """The request that the words make; BenchError says what is wrong with them."""
    arguments = _arguments()
    given = arguments.read(words)
    measure, k = kept_measure(given.measure)
    asked = Request(
        folder=given.folder,
        output=given.output,
        forms=_forms(arguments, given.format, given.output),
        lang=given.lang,
        measure=measure,
        k=k,
        baseline=given.baseline,
        rows=given.rows,
        columns=None if given.columns is None else tuple(map(_column, given.columns)),
        collection=given.collection,
        seed=given.seed,
        alpha=given.alpha,
    )
    if asked.output is not None:
        for path in asked.paths.values():
            refuse_unwritable("-o", path, read=[asked.folder])
    return asked


def _arguments() -> Arguments:
    made = Arguments("report", about=ABOUT, examples=EXAMPLES)
    add = made.add_argument
    add("folder", type=Path, metavar="outputs/NAME", help="the folder of a run or sweep")
    add("-o", "--output", type=Path, metavar="FILE", help="where to (report.html in the folder)")
    add("--format", type=names, metavar="F,F", help=f"of {','.join(FORMS)} (html, or as the name of -o ends)")
    add("--lang", choices=LANGUAGES, default="en", help="the language of what is said (en)")
    add("--measure", default="nDCG", metavar="M@K", help="what is tested (nDCG at the k nearest to 5)")
    add(
        "--baseline", metavar="SYSTEM", help="what the others are tested against (the first without reranker)"
    )
    add("--rows", type=names, metavar="S,S", help="the systems of the tables, in this order (all)")
    add(
        "--columns",
        type=names,
        metavar="M,M",
        help="the measures of the tables (P,R,RR,nDCG, Complete, Judged)",
    )
    add("--collection", metavar="NAME", help="one of several collections (all)")
    add("--seed", type=int, metavar="N", help="one of several seeds (the lowest)")
    add("--alpha", type=share, default=0.05, metavar="A", help="the level of the tests (0.05)")
    return made


def _forms(arguments: Arguments, named: Sequence[str] | None, output: Path | None) -> tuple[str, ...]:
    """Those that are named, else the one that the output's name ends with, else the page."""
    if named is None:
        ending = output.suffix.lower().removeprefix(".") if output is not None else ""
        if ending and ending not in FORMS:
            arguments.error(f"-o {output}: '.{ending}' says no form: {listing(FORMS)}, or --format FORM")
        return (ending or FORMS[0],)
    for form in named:
        if form not in FORMS:
            arguments.error(f"--format {form} is none of {listing(FORMS)}{did_you_mean(form, FORMS)}")
    return tuple(dict.fromkeys(named))


def _column(text: str) -> str:
    """The column of a measure that is named without k."""
    measure, k = kept_measure(text)
    if k is not None:
        raise BenchError(f"--columns {text}: a table has every k in a row of its own; name {measure} alone")
    return measure.key
