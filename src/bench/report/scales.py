"""Where things stand in a chart: ticks at round figures, a value as a share of an axis, labels kept apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = (1.0, 2.0, 5.0, 10.0)
DECADES = 10.0
"""Where the largest is so many times the smallest, an axis is logarithmic."""


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, with the values that are written beside it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value, 0 at the low end and 1 at the high one; what is beyond stays at the end."""
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, self._held(value)))
        return (value - low) / (high - low)

    def _held(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def linear(values: Sequence[float], *, most: int = 6, floor: float | None = None) -> Scale:
    """A scale that holds all values and ends at round figures, with at most so many steps.

    `floor` is a value below which the axis does not go, whatever the rounding.
    """
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.05 * max(abs(low), 1), high + 0.05 * max(abs(high), 1)
    step = _step((high - low) / most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(i * step, 10) for i in range(first, last + 1))
    if floor is not None and ticks[0] < floor:
        ticks = tuple(tick for tick in ticks if tick >= floor)
    return Scale(ticks[0], ticks[-1], ticks)


def costs(values: Sequence[float]) -> Scale:
    """A scale of positive costs: logarithmic where they lie far apart, else linear from 0."""
    low, high = min(values), max(values)
    if low <= 0 or high / low < DECADES:
        return linear([0.0, high])
    ends = low / 1.15, high * 1.15
    powers = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    every = [m * 10.0**p for p in powers for m in STEPS[:3]]
    ticks = tuple(tick for tick in every if ends[0] <= tick <= ends[1])
    if len(ticks) > 7:
        ticks = tuple(tick for tick in ticks if math.isclose(math.log10(tick) % 1, 0, abs_tol=1e-9))
    return Scale(*ends, ticks, log=True)


def ordinal(count: int) -> tuple[float, ...]:
    """Places of so many things in equal steps, as shares of the axis."""
    if count == 1:
        return (0.5,)
    return tuple(0.05 + 0.93 * i / (count - 1) for i in range(count))


def apart(wanted: Sequence[float], *, gap: float, low: float, high: float) -> tuple[float, ...]:
    """Places at least `gap` apart, in the order of those wanted and as near to them as that allows.

    Where two would overlap they are moved by equal amounts, and a group that is moved holds together (pool adjacent
    violators). All lie within `low` and `high` where there is room for that, else they go on beyond `high`.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[tuple[float, int]] = []
    for place, i in enumerate(order):
        groups.append((wanted[i] - place * gap, 1))
        while len(groups) > 1 and groups[-2][0] >= groups[-1][0]:
            (right, some), (left, more) = groups.pop(), groups.pop()
            groups.append(((left * more + right * some) / (more + some), more + some))
    highest = max(low, high - (len(order) - 1) * gap)
    starts = [min(max(start, low), highest) for start, count in groups for _ in range(count)]
    places = [0.0] * len(order)
    for place, i in enumerate(order):
        places[i] = starts[place] + place * gap
    return tuple(places)


def _step(least: float) -> float:
    """The smallest round step that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (*STEPS, 20.0) if step * power >= least * (1 - 1e-9))
