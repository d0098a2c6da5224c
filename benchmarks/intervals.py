"""Speed of the bootstrap beside SciPy's, in one process and in turn: `make benchmark`."""

from __future__ import annotations

import numpy as np
import scipy.stats
from clock import seconds

from bench.statistics.intervals import mean_interval, mean_intervals
from bench.statistics.resampling import Resamples

RESAMPLES, QUERIES, CELLS = 10_000, 1_000, 100


def intervals() -> None:
    """BCa intervals of the means of all cells of a collection, drawing included, and of one cell by SciPy."""
    values = np.random.default_rng(0).beta(0.5, 0.8, (QUERIES, CELLS))
    needs = [f"{query:05d}" for query in range(QUERIES)]
    one = values[:, 0]

    def of_all() -> None:
        mean_intervals(values, Resamples.of(needs, resamples=RESAMPLES))

    def of_one() -> None:
        mean_interval(one, Resamples.of(needs, resamples=RESAMPLES))

    def of_one_by_scipy() -> None:
        scipy.stats.bootstrap((one,), np.mean, n_resamples=RESAMPLES, method="BCa", rng=0)

    every, ours, theirs = seconds(of_all, of_one, of_one_by_scipy)
    print(f"intervals: BCa, {RESAMPLES} resamples x {QUERIES} queries")
    print(f"  bench  {CELLS:4} cells  {every:8.3f} s")
    print(f"  bench     1 cell   {ours:8.3f} s")
    print(f"  scipy     1 cell   {theirs:8.3f} s")
    print(f"  ratio     1 cell   {theirs / ours:8.1f}")
    print(f"  ratio  a cell of {CELLS}  {theirs / (every / CELLS):6.0f}")


if __name__ == "__main__":
    intervals()
