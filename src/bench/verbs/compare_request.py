"""What `python -m bench compare` is asked: its options, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Measure
from bench.output import form_of, refuse_unwritable
from bench.statistics.overview import WORTH_FINDING
from bench.verbs.arguments import Arguments, kept_measure, names, share, whole_numbers

FORMS = ("table", "json", "csv", "md")
ENDINGS = {".txt": "table", **{f".{form}": form for form in FORMS[1:]}}

ABOUT = """\
What the systems of a folder show against each other: which may be the best, which k, which reranker; or, with a
baseline or a second folder, what a change did: before, after, and whether that is more than chance."""

EXAMPLES = """\
examples:
  python -m bench compare outputs/default                              the whole sweep
  python -m bench compare outputs/default --baseline bm25              every system against one
  python -m bench compare outputs/default --baseline bm25 --system hybrid --measure nDCG@10 --also P@5,R@10,RR@10
  python -m bench compare outputs/before outputs/after                 the same queries and judgements, two folders
  python -m bench compare outputs/default --format md -o compare.md

Nothing is searched. The measure and k of the test are to be chosen before the results are seen; what else is shown
is exploratory, and marked so.
Exit codes: 0 done, 2 asked wrongly (then nothing has been written).
"""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be compared, at which measure and k, and how it is told."""

    folder: Path
    after: Path | None
    """A second folder: then the first is before."""
    baseline: str | None
    system: str | None
    measure: Measure
    k: int | None
    """The cut-off of the test; None for the nearest to 5 of `ks`, or of those swept."""
    ks: tuple[int, ...]
    """The cut-offs that are looked at, none for that of the test alone."""
    also: tuple[tuple[Measure, int | None], ...] | None
    """Other measures to show; one without k at every one of `ks`. None for the usual ones."""
    collection: str | None
    seed: int | None
    alpha: float
    worth_finding: float
    form: str
    output: Path | None


def request(words: Sequence[str]) -> Request:
    """The request that the words make; BenchError says what is wrong with them."""
    arguments = _arguments()
    given = arguments.read(words)
    if len(given.folders) > 2:
        arguments.error(f"two folders are compared at most, not {len(given.folders)}")
    one_folder = len(given.folders) == 1
    if not one_folder and given.folders[0].resolve() == given.folders[1].resolve():
        arguments.error(
            f"{given.folders[0]} is before and after; of one folder: --baseline SYSTEM --system SYSTEM"
        )
    if given.system and not given.baseline and one_folder:
        arguments.error(f"--system {given.system} is compared with what? --baseline SYSTEM is missing")
    if given.system and given.system == given.baseline and one_folder:
        arguments.error(f"{given.system} is the baseline and the system: name two")
    if given.also and not given.baseline and one_folder:
        arguments.error("--also shows more of a before and after: --baseline SYSTEM is missing")
    measure, k = kept_measure(given.measure)
    also = None if given.also is None else tuple(map(kept_measure, given.also))
    form = form_of("-o", given.output, ENDINGS, named=given.format)
    if given.output is not None:
        refuse_unwritable("-o", given.output, read=given.folders)
    return Request(
        folder=given.folders[0],
        after=None if one_folder else given.folders[1],
        baseline=given.baseline,
        system=given.system,
        measure=measure,
        k=k,
        ks=given.k or (),
        also=also,
        collection=given.collection,
        seed=given.seed,
        alpha=given.alpha,
        worth_finding=given.worth_finding,
        form=form,
        output=given.output,
    )


def _arguments() -> Arguments:
    made = Arguments("compare", about=ABOUT, examples=EXAMPLES)
    add = made.add_argument
    add("folders", nargs="+", type=Path, metavar="outputs/NAME", help="one folder; or two: before and after")
    add("--baseline", metavar="SYSTEM", help="the system that the others are held against, by its label")
    add("--system", metavar="SYSTEM", help="the one to show in detail (the best of the others)")
    add("--measure", default="nDCG", metavar="M@K", help="what is tested (nDCG at the k nearest to 5)")
    add("--k", type=whole_numbers, metavar="K,K", help="the cut-offs to look at, of those swept")
    add(
        "--also",
        type=names,
        metavar="M,M",
        help="other measures of a before and after (P,R,RR,nDCG, Complete)",
    )
    add("--collection", metavar="NAME", help="one of several collections (all, one after the other)")
    add("--seed", type=int, metavar="N", help="one of several seeds (the lowest)")
    add("--alpha", type=share, default=0.05, metavar="A", help="the level of the tests (0.05)")
    add(
        "--worth-finding", type=share, default=WORTH_FINDING, metavar="D",
        help=f"the difference that would matter, to count the needs it takes ({WORTH_FINDING:g})",
    )  # fmt: skip
    add("--format", choices=FORMS, help="how the result is written (table, or as the name of -o ends)")
    add("-o", "--output", type=Path, metavar="FILE", help="where to: .txt, .json, .csv, .md (the terminal)")
    return made
