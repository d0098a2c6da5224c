"""Lines and tables of plain text, and the two ways they are written: for a terminal, and as Markdown."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.artifacts import write_text
from bench.output import write_out
from bench.tables import shown

WIDEST = 40
"""A first column is folded beyond it."""


@dataclass(frozen=True)
class Line:
    """A paragraph."""

    text: str
    heading: bool = False


@dataclass(frozen=True)
class Rows:
    """A table: the first column holds words, the others figures, but for the last `words` of them."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: int = 0
    faint: frozenset[int] = frozenset()
    """The rows that stand back."""


Block = Line | Rows


def as_rich(blocks: Iterable[Block]) -> RenderableType:
    """The blocks for a terminal, a blank line above a heading."""
    every = list(blocks)
    apart = [
        isinstance(block, Line) and block.heading and isinstance(before, Line)
        for before, block in itertools.pairwise([None, *every])
    ]
    return Group(*(_rich(block, above="\n" if gap else "") for block, gap in zip(every, apart, strict=True)))


def as_markdown(blocks: Iterable[Block]) -> str:
    """The blocks as Markdown."""
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def tell(blocks: Sequence[Block], *, form: str, output: Path | None) -> None:
    """Print the blocks, as Markdown where the form is `md`, or write them to a file."""
    if output is None and form != "md":
        shown(as_rich(blocks))
        return
    text = as_markdown(blocks) if form == "md" else _plain(as_rich(blocks))
    put(text, output)


def put(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(text, end="")
    else:
        write_out(output, write_text(text))


def cut(text: str, *, most: int) -> str:
    """A text in one line, its end left out where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _rich(block: Block, *, above: str) -> RenderableType:
    if isinstance(block, Line):
        return Text(above + block.text, style="bold" if block.heading else "")
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(block.head):
        if i == 0:
            widest = max((len(row[0]) for row in block.rows), default=0)
            table.add_column(Text(name), width=min(WIDEST, max(widest, len(name))), overflow="fold")
        else:
            table.add_column(Text(name), justify="left" if _is_words(block, i) else "right", no_wrap=True)
    for i, row in enumerate(block.rows):
        table.add_row(*map(Text, row), style="dim" if i in block.faint else "")
    return table


def _markdown(block: Block) -> str:
    if isinstance(block, Line):
        return f"**{_escaped(block.text)}**" if block.heading else _escaped(block.text)
    aligned = ["---" if _is_words(block, i) else "--:" for i in range(len(block.head))]
    rows = [tuple(map(_escaped, row)) for row in (block.head, *block.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], tuple(aligned), *rows[1:]))


def _is_words(block: Rows, column: int) -> bool:
    return column == 0 or column >= len(block.head) - block.words


def _escaped(text: str) -> str:
    """Nothing of it is read as markup."""
    return re.sub(r"([\\`*_|<>\[\]~#])", r"\\\1", " ".join(text.split()))


def _plain(content: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, highlight=False, width=100, no_color=True).print(content)
    return out.getvalue()
