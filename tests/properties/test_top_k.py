import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bench.stores import best_first, top_k
from bench.stores.exact import Exact

FEW_SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 0.5, 1.0])
MANY_SCORES = st.floats(-1, 1, width=32)
SHAPES = arrays.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=30)
SCORES = arrays.arrays(np.float32, SHAPES, elements=FEW_SCORES | MANY_SCORES)
K = st.integers(0, 40)


def sorted_whole(line, k):
    hits = [row for row in range(len(line)) if line[row] > -np.inf]
    best = sorted(hits, key=lambda row: (-line[row], row))[:k]
    return best + [-1] * (k - len(best))


@given(SCORES, K)
def test_top_k_is_the_beginning_of_everything_sorted(scores, k):
    hits = top_k(scores, k)
    assert hits.rows.tolist() == [sorted_whole(line, k) for line in scores]
    for line, rows, found in zip(scores, *hits, strict=True):
        assert found.tolist() == [line[row] if row >= 0 else -np.inf for row in rows]


@given(SCORES, K, K)
def test_a_shorter_list_is_the_beginning_of_a_longer_one(scores, k, other):
    shorter, longer = sorted((k, other))
    np.testing.assert_array_equal(top_k(scores, shorter).rows, top_k(scores, longer).rows[:, :shorter])


@given(SCORES, st.randoms())
def test_lists_in_any_order_come_out_as_top_k_gives_them(scores, random):
    width = scores.shape[1]
    rows = np.array([random.sample(range(width), width) for _ in scores])
    found = np.take_along_axis(scores, rows, 1)
    hits = best_first(np.where(np.isneginf(found), -1, rows), found)
    expected = top_k(scores, width)
    np.testing.assert_array_equal(hits.rows, expected.rows)
    np.testing.assert_array_equal(hits.scores, expected.scores)


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 40), st.just(8)), elements=MANY_SCORES),
    arrays.arrays(np.float32, st.tuples(st.integers(1, 12), st.just(8)), elements=MANY_SCORES),
    st.integers(1, 45),
)
def test_exact_search_answers_a_query_alone_as_among_others(vectors, queries, k):
    index = Exact().build(vectors)
    together = index.search(queries, k)
    for query in range(len(queries)):
        alone = index.search(queries[query : query + 1], k)
        np.testing.assert_array_equal(alone.rows[0], together.rows[query])
        np.testing.assert_array_equal(alone.scores[0], together.scores[query])
