"""What `report` prints: where each form of it was written."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from bench.artifacts import Writer, write_text
from bench.output import write_out
from bench.report.forms import plot_files, table_writer
from bench.report.page import page
from bench.statistics.findings import Report


def told(
    report: Report,
    paths: Mapping[str, Path],
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    file: TextIO | None = None,
) -> int:
    """Write each form of the report to its path and print the paths, to standard output or this file; exit code 0.

    `rows` are the systems of tables and `columns` their measures, None for the usual ones.
    """
    for form, path in paths.items():
        if form == "html":
            _written({path: write_text(page(report))}, file)
        elif form in ("png", "svg"):
            _written({place: plot.writer(form) for place, plot in plot_files(report, form, path)}, file)
        else:
            _written({path: table_writer(report, form, rows=rows, columns=columns)}, file)
    return 0


def _written(files: Mapping[Path, Writer], file: TextIO | None) -> None:
    for path, write in files.items():
        write_out(path, write)
        print(path, file=file or sys.stdout)
