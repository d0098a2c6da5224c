"""Panels narrowed and set side by side."""

from __future__ import annotations

import numpy as np
import pytest

from bench.errors import BenchError
from bench.metrics import MEASURES
from bench.statistics.panel import Panel

NDCG = MEASURES["ndcg"]


def panel(*systems: str, k: int = 5, needs: tuple[str, ...] = ("n", "m")) -> Panel:
    values = np.arange(2.0 * len(systems)).reshape(2, -1)
    return Panel(systems, ("q1", "q2"), needs, {("ndcg", k): values, ("ndcg", 10): values + 10})


def test_a_panel_of_some_systems_has_their_columns_in_the_order_asked_for():
    found = panel("a", "b", "c").only(["c", "a"], names=["new c", "new a"])
    assert found.systems == ("new c", "new a")
    assert found.at(NDCG, 5).tolist() == [[2, 0], [5, 3]]
    with pytest.raises(BenchError, match="there is no system 'd'"):
        panel("a").only(["d"])


def test_two_panels_side_by_side_have_what_both_have():
    found = panel("a").beside(panel("b", "c", k=3))
    assert found.systems == ("a", "b", "c")
    assert found.ks("ndcg") == (10,)
    assert found.at(NDCG, 10).tolist() == [[10, 10, 11], [11, 12, 13]]


def test_panels_of_other_queries_or_needs_are_not_set_side_by_side():
    with pytest.raises(ValueError, match="over the same queries and needs"):
        panel("a").beside(panel("b", needs=("n", "n")))
