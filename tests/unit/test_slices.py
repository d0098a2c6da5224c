"""Slices by metadata, and the test of system x slice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bench.collection import Query
from bench.statistics.intervals import mean_interval
from bench.statistics.panel import Panel
from bench.statistics.resampling import Resamples
from bench.statistics.slices import Key, interaction, interactions, keys, slices, text_metadata

NEEDS = tuple(f"n{i:02}" for i in range(24))
TYPES = np.array(["direct", "code"] * 12)
RANDOM = np.random.default_rng(5)


def queries(**values: list[object]) -> list[Query]:
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return [Query(id=f"q{i}", text="", metadata=row) for i, row in enumerate(rows)]


def found_keys(**values: list[object]) -> dict[str, tuple[str, ...]]:
    own = queries(**values)
    return {key.name: key.parts for key in keys(own, [query.id for query in own])}


def test_a_key_with_a_few_values_parts_the_queries():
    assert found_keys(type=["a", "b", "a", "b"], hard=[True, False, True, True]) == {
        "hard": ("False", "True"), "type": ("a", "b"),
    }  # fmt: skip


def test_a_key_with_one_value_or_with_as_many_as_queries_parts_nothing():
    assert found_keys(all=["a"] * 4, note=["a", "b", "c", "d"], need=["x", "x", "y", "y"]) == {}


def test_queries_without_the_key_stand_last():
    assert found_keys(type=["b", None, "b", None]) == {"type": ("b", "")}


def test_metadata_is_told_as_text():
    assert text_metadata({"need": "n", "tags": ["a", "b"], "year": 2024, "none": None}) == {
        "tags": "a, b", "year": "2024",
    }  # fmt: skip


def test_a_slice_has_the_means_of_its_queries_at_every_k():
    values = {("ndcg", k): RANDOM.random((24, 2)) for k in (1, 5)}
    values["ndcg", 5][0] = np.nan
    resamples = Resamples.of(NEEDS, resamples=500)
    code, direct = slices(
        Panel(("a", "b"), NEEDS, NEEDS, values), [Key("type", TYPES)], measures=["ndcg"], measure="ndcg", k=5,
        resamples=resamples,
    )  # fmt: skip
    assert (code.key, code.value, code.queries, code.needs) == ("type", "code", 12, 12)
    assert (direct.value, direct.queries) == ("direct", 11), "a query that does not count is not counted"
    assert code.values["b", 1]["ndcg"].mean == pytest.approx(values["ndcg", 1][1::2, 1].mean())
    assert direct.values["a", 5]["ndcg"].mean == pytest.approx(values["ndcg", 5][2::2, 0].mean())
    inside = np.where(TYPES == "code", values["ndcg", 5][:, 0], np.nan)
    interval = mean_interval(inside, resamples)
    assert interval is not None
    assert (code.values["a", 5]["ndcg"].lo, code.values["a", 5]["ndcg"].hi) == (interval.lo, interval.hi)
    assert code.values["a", 1]["ndcg"].lo is None


def test_a_small_slice_says_that_it_has_no_interval():
    values = {("ndcg", 5): RANDOM.random((24, 1))}
    of = np.array(["rare"] * 3 + ["usual"] * 21)
    rare, usual = slices(
        Panel(("a",), NEEDS, NEEDS, values), [Key("type", of)], measures=["ndcg"], measure="ndcg", k=5,
        resamples=Resamples.of(NEEDS, resamples=500),
    )  # fmt: skip
    assert rare.values["a", 5]["ndcg"].lo is None
    assert rare.note == "3 needs: too few for an interval"
    assert usual.note == ""


def test_a_slice_that_is_harder_for_every_system_is_no_interaction():
    values = np.where(TYPES == "code", 0.2, 0.8)[:, np.newaxis] + np.array([0.0, 0.1])
    assert interaction(values, NEEDS, TYPES) == 1.0


def test_systems_that_change_places_between_slices_are_an_interaction():
    values = np.where((TYPES == "code")[:, np.newaxis], [0.2, 0.8], [0.8, 0.2]) + 0.01 * RANDOM.random(
        (24, 2)
    )
    assert interaction(values, NEEDS, TYPES) == 1 / 10_001


def test_p_is_that_of_all_permutations():
    needs, labels = NEEDS[:10], np.array(["a"] * 3 + ["b"] * 7)
    values = RANDOM.random((10, 3))
    beyond = values - values.mean(axis=1, keepdims=True)
    beyond = beyond - beyond.mean(axis=0)

    def between(inside: list[int]) -> float:
        outside = [i for i in range(10) if i not in inside]
        return float(sum(len(of) * (beyond[of].mean(axis=0) ** 2).sum() for of in (inside, outside)))

    observed = between([0, 1, 2])
    every = [between(list(of)) >= observed - 1e-12 for of in itertools.combinations(range(10), 3)]
    assert interaction(values, needs, labels) == pytest.approx(np.mean(every), abs=0.02)


def test_without_an_effect_p_is_below_its_level_as_often_as_it_says():
    p = [
        interaction(np.random.default_rng(i).random((24, 3)), NEEDS, TYPES, count=200, seed=i)
        for i in range(200)
    ]
    assert 0.1 < np.mean(np.array(p) <= 0.2) < 0.3


def test_queries_of_one_need_are_no_independent_witnesses():
    """Ten queries of one need say one thing ten times: alone they make no interaction of two needs."""
    needs = [f"n{i // 4}" for i in range(48)]
    labels = np.array(["a" if i // 4 < 6 else "b" for i in range(48)])
    by_need = np.random.default_rng(1).random((12, 2))
    values = np.repeat(by_need, 4, axis=0)
    alone = interaction(by_need, sorted(set(needs)), labels[::4])
    assert interaction(values, needs, labels) == pytest.approx(alone, abs=0.03)


def test_a_slice_of_wordings_is_tested_within_needs():
    """Every need is asked in two ways, and the second system fails on one of them."""
    needs = [f"n{i // 2}" for i in range(24)]
    values = np.where((TYPES == "code")[:, np.newaxis], [0.8, 0.2], [0.8, 0.8]) + 0.01 * RANDOM.random(
        (24, 2)
    )
    assert interaction(values, needs, TYPES) < 0.01


@pytest.mark.parametrize("systems", [1, 2])
def test_one_system_or_few_needs_can_t_be_tested(systems):
    (found,) = interactions(RANDOM.random((6, systems)), NEEDS[:6], [Key("type", TYPES[:6])])
    assert (found.p, found.corrected, found.shown) == (None, None, False)
    assert "can't be tested" in found.sentence


def test_the_keys_are_corrected_together_and_the_sentence_says_so():
    values = np.where((TYPES == "code")[:, np.newaxis], [0.2, 0.8], [0.8, 0.2]) + 0.01 * RANDOM.random(
        (24, 2)
    )
    values[3] = np.nan
    halves = np.array(["x"] * 12 + ["y"] * 12)
    one, other = interactions(values, NEEDS, [Key("type", TYPES), Key("half", halves)])
    assert one.p is not None
    assert one.corrected == pytest.approx(2 * one.p)
    assert one.shown
    assert not other.shown
    assert one.sentence.startswith("How the systems compare differs between values of type more than chance")
    assert "Benjamini-Hochberg over 2 keys" in other.sentence
    assert "not shown" in other.sentence
