import numpy as np
import pytest

from bench.errors import BenchError, Unsuitable
from bench.identity import identity
from bench.stores import best_first
from bench.stores.exact import Exact
from bench.stores.faiss import Faiss


def unit_vectors(count, *, seed=0, dim=16):
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


IVF = {"factory": "IVF{nlist},Flat", "nlist": 8}


def test_inner_products_rank_the_larger_first():
    hits = Exact().build(np.eye(3, dtype=np.float32)).search(np.array([[0.2, 0.9, 0.5]], np.float32), 3)
    assert hits.rows.tolist() == [[1, 2, 0]]
    assert hits.scores[0] == pytest.approx([0.9, 0.5, 0.2])


def test_found_lists_are_ordered_with_ties_to_the_smaller_row_and_empty_places_last():
    rows = np.array([[7, -1, 3, 5]])
    hits = best_first(rows, np.array([[0.5, 9.0, 0.5, 0.8]]))
    assert hits.rows.tolist() == [[5, 3, 7, -1]]
    assert hits.scores[0] == pytest.approx([0.8, 0.5, 0.5, -np.inf])
    assert rows.tolist() == [[7, -1, 3, 5]]


COPIES = {
    "exact": Exact(),
    "flat": Faiss(),
    "sq8": Faiss(factory="SQ8"),
    "ivf": Faiss(**IVF, search={"nprobe": 8}),
}


@pytest.mark.parametrize("store", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("k", [1, 5, 20, 23])
def test_equal_vectors_score_alike_and_come_in_the_order_of_their_rows(store, k):
    # The place of a vector in a matrix product changes its last bit, and FAISS takes any of those that tie.
    vectors = unit_vectors(60, dim=384)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(60), 20))
    hits = store.build(vectors[order]).search(vectors, k)
    best = np.array([np.flatnonzero(order == copy)[: min(k, 20)] for copy in range(60)])
    np.testing.assert_array_equal(hits.rows[:, :20], best)
    assert (np.ptp(hits.scores[:, :20], axis=1) == 0).all()


@pytest.mark.parametrize("store", COPIES.values(), ids=COPIES)
def test_a_query_to_which_all_are_alike_gets_the_first_rows(store):
    hits = store.build(unit_vectors(100)).search(np.zeros((1, 16), np.float32), 10)
    assert hits.rows.tolist() == [list(range(10))]


def test_short_lists_end_in_empty_places():
    # Case 13: FAISS fills with row -1 and score -3.4e38, and -1 is the last document to an array.
    index = Faiss(**IVF, search={"nprobe": 1}).build(unit_vectors(40))
    hits = index.search(unit_vectors(30, seed=1), 10)
    assert (hits.rows[:, -1] == -1).any()
    np.testing.assert_array_equal(hits.rows == -1, np.isneginf(hits.scores))


def test_ef_search_is_raised_to_k_and_both_are_recorded():
    # Case 14: asked k=50 with efSearch=10.
    index = Faiss(factory="HNSW16", search={"efSearch": 10}).build(unit_vectors(300))
    assert (index.search(unit_vectors(5, seed=1), 50).rows >= 0).all()
    parameters = index.parameters()
    assert (parameters["efSearch"], parameters["efSearch_used"]) == (10, 50)


def test_at_depth_a_short_search_is_the_beginning_of_the_deep_one():
    store = Faiss(factory="HNSW8", search={"efSearch": 4})
    vectors, queries = unit_vectors(2000, dim=32), unit_vectors(50, seed=1, dim=32)
    deep = store.at_depth(100).build(vectors)
    np.testing.assert_array_equal(deep.search(queries, 5).rows, deep.search(queries, 100).rows[:, :5])
    assert deep.parameters()["efSearch"] == 100
    assert (store.build(vectors).search(queries, 5).rows != deep.search(queries, 5).rows).any()


def test_at_depth_leaves_alone_what_is_deep_enough_or_knows_no_depth():
    for store in (Faiss(factory="HNSW32", search={"efSearch": 200}), Faiss(), Faiss(**IVF)):
        assert store.at_depth(100) is store


def test_nprobe_is_no_more_than_the_lists():
    index = Faiss(**IVF, search={"nprobe": 64}).build(unit_vectors(320))
    assert index.parameters()["nprobe"] == index.parameters()["nlist"] == 8


@pytest.mark.parametrize(("count", "lists"), [(1, 1), (40, 1), (390, 10), (10_000, 256), (25_000, 632)])
def test_lists_by_themselves_hold_39_vectors_or_more(count, lists):
    index = Faiss(factory="IVF{nlist},Flat").build(unit_vectors(count, dim=4))
    assert index.parameters()["nlist"] == lists


def test_settings_are_read_back_by_faiss_names():
    store = Faiss(factory="HNSW16", construction={"efConstruction": 77}, search={"efSearch": 33})
    parameters = store.build(unit_vectors(50)).parameters()
    assert (parameters["M"], parameters["efConstruction"], parameters["efSearch"]) == (16, 77, 33)
    parameters = (
        Faiss(factory="IVF4,PQ4x4np,RFlat", search={"k_factor_rf": 3, "nprobe": 2})
        .build(unit_vectors(200))
        .parameters()
    )
    assert parameters | {"nlist": 4, "nprobe": 2, "pq_M": 4, "pq_bits": 4, "k_factor_rf": 3} == parameters


def test_a_setting_inside_the_quantizer_has_its_own_name():
    store = Faiss(factory="IVF8_HNSW16,Flat", search={"quantizer_efSearch": 21})
    parameters = store.build(unit_vectors(320)).parameters()
    assert parameters["quantizer_efSearch"] == 21
    assert "efSearch" not in parameters


def test_the_seed_changes_what_is_random():
    queries = unit_vectors(30, seed=1)
    one, other = (Faiss(**IVF, seed=seed).build(unit_vectors(320)).search(queries, 10) for seed in (1, 2))
    assert (one.rows != other.rows).any()


def test_one_build_serves_every_search_setting():
    one, other = Faiss(factory="HNSW32", search={"efSearch": 16}), Faiss(factory="HNSW32")
    assert one.build_identity() == other.build_identity()
    assert identity(one) != identity(other)


def test_threads_are_no_part_of_the_identity_and_the_seed_is():
    assert identity(Faiss(threads=2)) == identity(Faiss())
    assert Faiss(seed=1).build_identity() != Faiss().build_identity()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"search": {"efSearch": 16}},
            r"store\.search\.efSearch: the index Flat has no such setting; it has none",
        ),
        ({**IVF, "search": {"efSearch": 16}}, "no such setting; it has nprobe"),
        ({"construction": {"efConstruction": 9}}, r"store\.construction\.efConstruction: FAISS says"),
        ({"factory": "IDMap,Flat"}, "use add_with_ids"),
        ({"factory": "SQ8", "search": {"nprobe": 2}}, "SQ8 has no such setting"),
    ],
)
def test_what_an_index_cannot_do_is_unsuitable(fields, message):
    with pytest.raises(Unsuitable, match=message):
        Faiss(**fields).build(unit_vectors(320))


@pytest.mark.parametrize(
    ("factory", "needed"),
    [("IVF64,Flat", 64), ("PQ4np", 256), ("IVF{nlist},PQ4x4np", 16), ("IVF300,PQ4np", 300)],
)
def test_too_few_vectors_to_train_are_refused_before_any_job(factory, needed):
    store = Faiss(factory=factory)
    with pytest.raises(Unsuitable, match=rf"it takes {needed}: take store=faiss_flat or store=faiss_hnsw"):
        store.check(needed - 1)
    with pytest.raises(Unsuitable, match="cannot train it"):
        store.build(unit_vectors(needed - 1))
    store.check(needed)
    assert store.build(unit_vectors(needed)).parameters()["ntotal"] == needed


def test_dimensions_that_do_not_divide_are_unsuitable():
    with pytest.raises(Unsuitable, match="should be a multiple of the number of subquantizers"):
        Faiss(factory="PQ48").build(unit_vectors(300))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"factory": "HNWS32"}, "could not parse index string HNWS32"),
        ({**IVF, "construction": {"nprobe": 9}}, r"say store\.search\.nprobe"),
        ({"nlist": 8}, "give both or neither"),
        ({"factory": "IVF{nlist},Flat", "nlist": None}, "give both or neither"),
        ({"nlist": "many"}, r"store\.nlist=many: a whole number from 1, or auto"),
        ({"threads": 0}, r"store\.threads=0: a whole number from 1"),
        ({"search": {"efSearch": "high"}}, r"store\.search\.efSearch='high': a number from 1"),
        ({"construction": {"efConstruction": 0}}, r"store\.construction\.efConstruction=0"),
    ],
)
def test_what_is_asked_wrongly_is_an_error_and_no_skipped_cell(fields, message):
    with pytest.raises(BenchError, match=message) as raised:
        Faiss(**fields).check(320)
    assert not isinstance(raised.value, Unsuitable)


def test_exact_has_no_search_settings():
    with pytest.raises(Unsuitable, match="exact search has no settings, so no efSearch"):
        Exact(search={"efSearch": 16}).check(10)


def test_saved_vectors_of_another_kind_are_refused(tmp_path):
    np.save(tmp_path / "vectors.npy", np.zeros(3))
    with pytest.raises(BenchError, match="holds float64"):
        Exact().open(tmp_path)
