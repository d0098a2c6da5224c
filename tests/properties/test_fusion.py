"""Fusion against a dictionary, and what holds whatever the sides are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fusion import ReciprocalRank, WeightedSum
from bench.ids import Ids
from bench.runs import Run

DOCS = Ids("abcdefgh")
METHODS = [ReciprocalRank(), ReciprocalRank(rank_constant=0), WeightedSum(), WeightedSum(normalise="min_max")]

# Quarters, so that scores tie often and differ enough to stay apart when normalised.
scores = st.integers(-40, 40).map(lambda quarters: quarters / 4)
ranking = st.dictionaries(st.sampled_from(list(DOCS)), scores)
weight = st.sampled_from([0.0, 0.3, 1.0, 2.5])
names = st.sampled_from(["bm25", "dense", "use", "e5"])


@st.composite
def sides(draw):
    """Up to four sides over the same queries: `{name: (one ranking a query, weight)}`."""
    queries = draw(st.integers(1, 3))
    rankings = st.lists(ranking, min_size=queries, max_size=queries)
    return draw(st.dictionaries(names, st.tuples(rankings, weight), min_size=1))


def run(rankings):
    depth = max(map(len, rankings))
    rows, values = np.full((len(rankings), depth), -1), np.zeros((len(rankings), depth))
    for query, found in enumerate(rankings):
        rows[query, : len(found)], values[query, : len(found)] = DOCS.rows(found), list(found.values())
    return Run(tuple(f"q{i}" for i in range(len(rankings))), DOCS, rows, values)


def fuse(method, given_sides, depth=8):
    runs = {name: run(rankings) for name, (rankings, _) in given_sides.items()}
    return method.fuse(runs, {name: weight for name, (_, weight) in given_sides.items()}, depth=depth)


def ids(fused, query):
    return fused.docs.take(fused.rows[query][fused.rows[query] >= 0]).to_pylist()


@given(sides())
def test_reciprocal_ranks_agree_with_a_dictionary(given_sides):
    fused = fuse(ReciprocalRank(), given_sides)
    for query in range(len(fused.queries)):
        expected = {}
        for rankings, weight in given_sides.values():
            best_first = sorted(rankings[query].items(), key=lambda hit: (hit[1], hit[0]), reverse=True)
            for rank, (doc, _) in enumerate(best_first, 1):
                expected[doc] = expected.get(doc, 0.0) + weight / (60 + rank)
        found = dict(zip(ids(fused, query), fused.scores[query], strict=False))
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("method", METHODS)
@given(given_sides=sides())
def test_the_order_of_sides_and_their_names_change_nothing(method, given_sides):
    fused = fuse(method, given_sides)
    turned = fuse(method, dict(reversed(given_sides.items())))
    renamed = fuse(method, {f"{9 - i}": side for i, side in enumerate(given_sides.values())})
    for other in (turned, renamed):
        assert np.array_equal(other.rows, fused.rows)
        assert np.array_equal(other.scores, fused.scores)


@pytest.mark.parametrize("method", METHODS)
@given(given_sides=sides())
def test_what_is_fused_is_what_the_sides_found(method, given_sides):
    fused = fuse(method, given_sides)
    for query in range(len(fused.queries)):
        assert set(ids(fused, query)) == {
            doc for rankings, _ in given_sides.values() for doc in rankings[query]
        }
    for name, (rankings, _) in given_sides.items():
        stage = fused.stages[name]
        assert (stage.ranks > 0).sum(axis=1).tolist() == [len(found) for found in rankings]
        assert np.array_equal(stage.ranks > 0, stage.scores > -np.inf)


@pytest.mark.parametrize("method", METHODS)
@given(rankings=st.lists(ranking, min_size=1, max_size=3), depth=st.integers(1, 8))
def test_an_empty_side_leaves_the_order_and_a_depth_only_cuts(method, rankings, depth):
    alone = run(rankings)
    fused = fuse(method, {"side": (rankings, 1.0), "empty": ([{}] * len(rankings), 1.0)}, depth=depth)
    assert np.array_equal(fused.rows, alone.rows[:, :depth])


@pytest.mark.parametrize("method", METHODS)
@given(rankings=st.lists(ranking, min_size=1, max_size=3))
def test_a_side_fused_with_itself_keeps_its_order(method, rankings):
    assert np.array_equal(fuse(method, {"u": (rankings, 1.0), "v": (rankings, 1.0)}).rows, run(rankings).rows)
