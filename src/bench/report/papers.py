"""Tables to be copied into a paper or a page: Markdown and LaTeX with rounded figures, CSV and Parquet with whole ones.

The systems at one k stand together and the best of each k is bold, for most measures can be compared at one k only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from bench.report.choice import BETTER, WORSE, Chosen, chosen
from bench.statistics.findings import OK, Cell, Findings


def markdown(
    findings: Sequence[Findings],
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    lang: str = "en",
) -> str:
    """A table a collection with its caption above it.

    `rows` are systems, `columns` measures by their column in the grid, both in the order in which they are wanted;
    None for all systems and for P, R, RR, nDCG, Complete and Judged with the latency. BenchError for what is not there.
    """
    return "\n".join(_markdown(one) for one in chosen(findings, rows, columns, lang))


def latex(
    findings: Sequence[Findings],
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    lang: str = "en",
) -> str:
    """A `table` a collection, for the package booktabs, with caption and label; chosen as in `markdown`."""
    tables = chosen(findings, rows, columns, lang)
    return "% \\usepackage{booktabs}\n" + "\n".join(_latex(one) for one in tables)


def csv(
    findings: Sequence[Findings], *, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> str:
    """What `table` holds as CSV, every digit of it; an empty field where there is no value."""
    text: str = (
        table(findings, rows=rows, columns=columns)
        .to_pandas(integer_object_nulls=True)
        .to_csv(index=False, lineterminator="\n")
    )
    return text


def table(
    findings: Sequence[Findings], *, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """A row a system and k of every collection: means with their intervals, costs, and p against the baseline.

    Nothing is rounded. Chosen as in `markdown`.
    """
    tables = chosen(findings, rows, columns, "en")
    measures = list(dict.fromkeys(name for one in tables for name in one.columns))
    ends = [f"{name}{end}" for name in measures for end in ("", "_lo", "_hi")]
    reals = [*ends, "p", "latency_p50_ms", "context_tokens"]
    schema = pa.schema(
        [("collection", pa.string()), ("system", pa.string()), ("k", pa.int64()), ("status", pa.string()),
         ("queries", pa.int64()), *((name, pa.float64()) for name in reals), ("reason", pa.string())]
    )  # fmt: skip
    return pa.Table.from_pylist([row for one in tables for row in _records(one, measures)], schema)


def _figures(
    one: Chosen, group: Sequence[Cell], *, bold: str, plain: str
) -> Iterator[tuple[Cell, list[str]]]:
    """Each cell of a k with its figures, the best as `bold` has it, the others as `plain`."""
    best = one.best(group)
    for cell in group:
        if cell.status != OK:
            yield cell, [cell.status, *[one.words.number(None)] * (len(one.head) - 1)]
            continue
        figures = []
        for measure in one.columns:
            printed = one.printed(cell, measure)
            form = bold if printed == best.get(measure) else plain
            figures.append(form.format(printed) + one.mark(cell, measure))
        ms = cell.latency.mean if cell.latency else None
        yield cell, [*figures, *[one.words.ms(ms)] * one.costs]


def _markdown(one: Chosen) -> str:
    lines = [" ".join(map(_for_markdown, one.caption)), ""]
    lines.append(f"| k | {one.system} | {' | '.join(one.head)} |")
    lines.append(f"| --: | --- |{' --: |' * len(one.head)}")
    for group in one.groups:
        for cell, figures in _figures(one, group, bold="**{}**", plain="{}"):
            lines.append(f"| {cell.k} | {_for_markdown(cell.system)} | {' | '.join(figures)} |")
    for reason in one.reasons:
        lines += ["", _for_markdown(reason)]
    return "\n".join(lines) + "\n"


def _latex(one: Chosen) -> str:
    lines = ["\\begin{table}", "  \\centering", f"  \\caption{{{' '.join(map(_for_latex, one.caption))}}}"]
    lines.append(f"  \\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', one.of.collection)}}}")
    lines.append(f"  \\begin{{tabular}}{{rl{'r' * len(one.head)}}}\n    \\toprule")
    lines.append(f"    $k$ & {one.system} & {' & '.join(map(_for_latex, one.head))} \\\\")
    for group in one.groups:
        lines.append("    \\midrule")
        for i, (cell, figures) in enumerate(_figures(one, group, bold="\0{}\1", plain="{}")):
            shown = [
                _for_latex(str(cell.k)) if i == 0 else "",
                _for_latex(cell.system),
                *map(_for_latex, figures),
            ]
            lines.append(f"    {' & '.join(shown)} \\\\")
    lines += ["    \\bottomrule", "  \\end{tabular}"]
    lines += [f"  \\par\\smallskip\\footnotesize {_for_latex(reason)}" for reason in one.reasons]
    return "\n".join([*lines, "\\end{table}"]) + "\n"


_SIGNS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--", "−": "$-$", "≤": r"$\leq$", "\0": r"\textbf{",
    "\1": "}", BETTER: r"$^{\dagger}$", WORSE: r"$^{\ddagger}$", "\"": r"\textquotedbl{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def _for_latex(text: str) -> str:
    """Nothing of it is read as a command; in one line, for an empty one would end a paragraph."""
    return "".join(_SIGNS.get(sign, sign) for sign in re.sub(r"\s+", " ", text))


def _for_markdown(text: str) -> str:
    """Nothing of it is read as markup."""
    return re.sub(r"([\\`*_|<>\[\]~#&])", r"\\\1", " ".join(text.split()))


def _records(one: Chosen, measures: Sequence[str]) -> Iterator[dict[str, object]]:
    for cell in (cell for group in one.groups for cell in group):
        row: dict[str, object] = {"collection": one.of.collection, "system": cell.system, "k": cell.k}
        row |= {"status": cell.status, "queries": cell.queries if cell.status == OK else None}
        for name in measures:
            if figure := cell.values.get(name):
                row |= {name: figure.mean, f"{name}_lo": figure.lo, f"{name}_hi": figure.hi}
        change = one.of.significance.get(cell.system) if cell.k == one.of.k else None
        known = (
            change is not None and change.corrected == change.corrected
        )  # NaN where nothing could be tested
        row |= {"p": change.corrected if change is not None and known else None, "reason": cell.reason}
        row |= {"latency_p50_ms": cell.latency.mean if cell.latency else None}
        yield {**row, "context_tokens": cell.context_tokens}
