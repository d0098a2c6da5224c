"""A report in its other forms, tables and plots: which files they are, and what writes each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.artifacts import Writer, write_table, write_text
from bench.errors import BenchError
from bench.report import papers, plots
from bench.statistics.findings import LATENCY, TOKENS, Findings, Report


def table_writer(
    report: Report, form: str, *, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> Writer:
    """What writes the tables of every collection, as `md`, `tex`, `csv` or `parquet`."""
    if form == "md":
        return write_text(papers.markdown(report.findings, rows=rows, columns=columns, lang=report.lang))
    if form == "tex":
        return write_text(papers.latex(report.findings, rows=rows, columns=columns, lang=report.lang))
    if form == "csv":
        return write_text(papers.csv(report.findings, rows=rows, columns=columns))
    return write_table(papers.table(report.findings, rows=rows, columns=columns))


def plot_files(report: Report, form: str, path: Path) -> Iterator[tuple[Path, plots.Plot]]:
    """The plots and where they go: the first at the path, the others beside it with what they are in the name."""
    several = len(report.findings) > 1
    for i, one in enumerate(report.findings):
        for j, (name, plot) in enumerate(_plots(one, report.lang)):
            parts = [*[_safe(one.collection)] * (several and i > 0), *[name] * (j > 0)]
            yield path.with_name("-".join([path.stem, *parts]) + f".{form}") if parts else path, plot


def _plots(findings: Findings, lang: str) -> Iterator[tuple[str, plots.Plot]]:
    """Those that the findings have something for."""
    yield "quality", plots.quality(findings, lang=lang)
    for cost in (LATENCY, TOKENS):
        try:
            yield f"by-{cost}", plots.trade_off(findings, cost=cost, lang=lang)
        except BenchError:
            continue  # nothing was timed
    for key in dict.fromkeys(one.key for one in findings.slices):
        yield f"slices-{_safe(key)}", plots.slices(findings, key=key, lang=lang)


def _safe(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "._" else "_" for sign in text)[:60]
