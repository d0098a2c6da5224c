"""Labels of points in a chart of unknown width, put where they lie on nothing, or left away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDE, NARROW = 600.0, 250.0
"""The width in pixels that a drawing has at least at a desk, and on a phone."""
LETTER, HIGH = 6.7, 14.0
"""A letter's width and a line's height in pixels, on the large side."""
APART = 2.0
"""Pixels to the left and right of a text that stay free."""
MARK = 7.0
"""A mark reaches so far from its centre."""
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """What is to stand at a point."""

    x: float
    """As a share of the width."""
    y: float
    """In pixels."""
    number: str
    """Said even where there is little room."""
    text: str
    """Said beside it where there is more."""


@dataclass(frozen=True)
class Placed:
    """A label and where it stands beside its point."""

    label: Label
    dx: float
    dy: float
    end: bool
    """Whether it ends there, or begins."""
    whole: bool
    """Whether there is room for its text at a desk."""
    narrow: bool
    """Whether there is room for its number on a phone."""

    @property
    def classes(self) -> str:
        """How it is written."""
        return " ".join(["label", *["end"] * self.end, *["wide"] * (not self.narrow)])


def placed(
    labels: Sequence[Label],
    marks: Sequence[tuple[float, float]],
    *,
    strokes: Sequence[tuple[float, float, float, float]] = (),
    height: float,
) -> list[Placed]:
    """The labels that find room beside their points, the first ones first.

    `marks` are all points of the chart, `strokes` its upright and level lines, from one end to the other; both with
    the share of the width and the pixels down.

    Each is tried above and to the left, where the region beyond a front of rising points is empty, then elsewhere;
    first whole, then its number alone.
    """
    wide: list[Box] = [_around(x * WIDE, y) for x, y in marks]
    narrow: list[Box] = [_around(x * NARROW, y) for x, y in marks]
    for x, y, to_x, to_y in strokes:
        (low, high), (top, foot) = sorted((x, to_x)), sorted((y, to_y))
        wide.append((low * WIDE - 1, top - 1, high * WIDE + 1, foot + 1))
        narrow.append((low * NARROW - 1, top - 1, high * NARROW + 1, foot + 1))
    found = []
    for label in labels:
        for whole, (dx, dy, end) in [(whole, spot) for whole in (True, False) for spot in _SPOTS]:
            text = f"{label.number} {label.text}" if whole else label.number
            box = _box(label.x * WIDE + dx, label.y + dy, text, end)
            if not _free(box, wide, WIDE, height):
                continue
            small = _box(label.x * NARROW + dx, label.y + dy, label.number, end)
            fits = _free(small, narrow, NARROW, height)
            wide.append(box)
            narrow += [small] * fits
            found.append(Placed(label, dx, dy, end, whole, fits))
            break
    return found


_SPOTS = (
    (-9.0, -7.0, True),
    (10.0, 16.0, False),
    (10.0, -8.0, False),
    (-9.0, 18.0, True),
    (11.0, 4.0, False),
)


def _around(x: float, y: float) -> Box:
    return x - MARK, y - MARK, x + MARK, y + MARK


def _box(x: float, y: float, text: str, end: bool) -> Box:
    """Of a text whose baseline begins or ends there."""
    long = LETTER * len(text)
    left = x - long if end else x
    return left - APART, y - HIGH + 3, left + long + APART, y + 3


def _free(box: Box, others: Sequence[Box], width: float, height: float) -> bool:
    inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
    return inside and not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )
