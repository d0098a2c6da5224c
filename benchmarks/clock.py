"""Times of tasks that are held against each other."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

ROUNDS = 5


def seconds(*tasks: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The median time of each task, taken in turn so that a slow moment of the machine hits all alike."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(rounds):
        for task, taken in zip(tasks, times, strict=True):
            started = time.perf_counter()
            task()
            taken.append(time.perf_counter() - started)
    return [float(np.median(taken)) for taken in times]
