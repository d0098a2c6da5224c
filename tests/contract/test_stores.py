"""What holds of every store: each yaml in conf/store is found and tried, nothing is listed here."""

from pathlib import Path

import faiss
import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from bench.errors import BenchError, Unsuitable
from bench.identity import identity
from bench.stores.exact import Exact

CONFIGS = sorted((Path(__file__).parents[2] / "conf" / "store").glob("*.yaml"))
FLOORS = {"exact": 1.0, "faiss_flat": 1.0, "faiss_hnsw": 0.95, "faiss_ivf": 0.95, "faiss_sq8": 0.95}
LOWEST_FLOOR = 0.5


def unit_vectors(count, *, seed, dim=32):
    vectors = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


VECTORS = unit_vectors(600, seed=1)
QUERIES = unit_vectors(40, seed=2)


def make(config, **changes):
    node = OmegaConf.load(config)
    if "seed" in node:
        node.seed = 0
    return instantiate(OmegaConf.merge(node, OmegaConf.create(changes)), _convert_="all")


@pytest.fixture(scope="module", params=CONFIGS, ids=lambda path: path.stem)
def config(request):
    return request.param


@pytest.fixture(scope="module")
def index(config):
    return make(config).build(VECTORS)


def assert_equal(one, other):
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.scores, other.scores)


def test_every_yaml_says_on_its_first_line_when_to_use_it(config):
    assert config.read_text(encoding="utf-8").startswith("# ")


def test_hits_are_rows_and_falling_scores_without_a_duplicate(index):
    rows, scores = index.search(QUERIES, 10)
    assert rows.shape == scores.shape == (40, 10)
    assert (rows.dtype, scores.dtype) == (np.int64, np.float32)
    assert ((rows >= 0) & (rows < 600)).all()
    assert (np.diff(scores) <= 0).all()
    assert all(len(set(row)) == 10 for row in rows.tolist())


def test_most_of_the_nearest_ten_are_found(index, config):
    truth = Exact().build(VECTORS).search(QUERIES, 10).rows
    found = index.search(QUERIES, 10).rows
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(truth.tolist(), found.tolist(), strict=True)])
    assert recall >= FLOORS.get(config.stem, LOWEST_FLOOR)


def test_what_was_saved_answers_alike(config, tmp_path):
    index = make(config).build(VECTORS)
    index.save(tmp_path)
    opened = make(config).open(tmp_path)
    assert_equal(index.search(QUERIES, 20), opened.search(QUERIES, 20))
    assert opened.parameters() == index.parameters()
    assert opened.size_bytes() == index.size_bytes()


def largest(folder):
    return max(folder.iterdir(), key=lambda path: path.stat().st_size)


def test_a_file_cut_short_anywhere_is_an_error_that_names_it(index, config, tmp_path):
    # FAISS maps a file that ends inside its header or its last value: the first crashes, the second is unseen.
    index.save(tmp_path)
    file = largest(tmp_path)
    data = file.read_bytes()
    for length in (0, 1, 30, 95, 130, len(data) // 2, len(data) - 5, len(data) - 1):
        file.write_bytes(data[:length])
        with pytest.raises(BenchError, match=rf"{file.name}: not a readable index"):
            make(config).open(tmp_path)


def test_a_file_of_something_else_is_an_error(index, config, tmp_path):
    index.save(tmp_path)
    file = largest(tmp_path)
    file.write_bytes(b"?" * file.stat().st_size)
    with pytest.raises(BenchError, match="not a readable index"):
        make(config).open(tmp_path)


def test_a_missing_file_is_an_error(config, tmp_path):
    with pytest.raises(BenchError, match="not a readable index"):
        make(config).open(tmp_path)


def test_a_zero_query_gets_zeros_or_nothing_but_no_nan(index):
    _, scores = index.search(np.zeros((2, 32), np.float32), 10)
    assert not np.isnan(scores).any()


def test_the_top_5_is_the_beginning_of_the_top_50(index):
    # HNSW keeps this up to its efSearch, 64 here; beyond it, see at_depth.
    five, fifty = index.search(QUERIES, 5), index.search(QUERIES, 50)
    np.testing.assert_array_equal(five.rows, fifty.rows[:, :5])
    np.testing.assert_array_equal(five.scores, fifty.scores[:, :5])


def test_a_query_is_answered_alone_as_among_others(index):
    together = index.search(QUERIES, 10)
    for query in range(len(QUERIES)):
        alone = index.search(QUERIES[query : query + 1], 10)
        np.testing.assert_array_equal(alone.rows[0], together.rows[query])
        np.testing.assert_allclose(alone.scores[0], together.scores[query], atol=1e-6)


def test_no_queries_give_no_hits(index):
    rows, scores = index.search(np.empty((0, 32), np.float32), 10)
    assert rows.shape == scores.shape == (0, 10)


def test_k_beyond_the_vectors_ends_in_empty_places(index):
    rows, scores = index.search(QUERIES, 700)
    assert rows.shape == scores.shape == (40, 700)
    assert (rows[:, 600:] == -1).all()
    np.testing.assert_array_equal(rows < 0, np.isneginf(scores))
    assert all(len(set(row) - {-1}) == sum(place >= 0 for place in row) for row in rows.tolist())


def test_one_vector_is_found_or_refused_before_any_job(config):
    store = make(config)
    try:
        store.check(1)
    except Unsuitable as reason:
        assert "store=faiss_flat" in str(reason)
        with pytest.raises(Unsuitable, match="cannot train it"):
            store.build(VECTORS[:1])
    else:
        rows, scores = store.build(VECTORS[:1]).search(VECTORS[:1], 3)
        assert rows.tolist() == [[0, -1, -1]]
        assert scores[0, 0] == pytest.approx(1, abs=0.02)


def test_no_vectors_are_refused(config):
    with pytest.raises(Unsuitable):
        make(config).check(0)


def test_parameters_are_read_back_from_the_index(config, index):
    store, parameters = make(config), index.parameters()
    assert (parameters["ntotal"], parameters["dim"]) == (600, 32)
    for name, asked in store.search.items():
        most = parameters["nlist"] if name == "nprobe" else asked
        assert parameters[name] == min(asked, most)


def test_a_search_setting_can_be_added_to_any_store_and_is_refused_where_it_is_unknown(config):
    known = make(config).search
    for name in ("efSearch", "nprobe"):
        store = make(config, search={name: 16})
        if name in known:
            store.check(600)
        else:
            with pytest.raises(Unsuitable, match=name):
                store.check(600)
            with pytest.raises(Unsuitable, match=name):
                store.build(VECTORS)


def test_two_builds_are_equal_whatever_the_number_of_threads(config, tmp_path):
    before = faiss.omp_get_max_threads()
    files, hits = [], []
    try:
        for threads in (1, 2, 2):
            faiss.omp_set_num_threads(threads)
            index = make(config).build(VECTORS)
            hits.append(index.search(QUERIES, 20))
            folder = tmp_path / str(len(files))
            folder.mkdir()
            index.save(folder)
            files.append(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
            assert faiss.omp_get_max_threads() == threads
    finally:
        faiss.omp_set_num_threads(before)
    assert files[0] == files[1] == files[2]
    assert_equal(hits[0], hits[1])
    assert_equal(hits[1], hits[2])


def test_building_and_searching_print_nothing(config, capfd):
    make(config).build(VECTORS).search(QUERIES, 10)
    assert capfd.readouterr() == ("", "")


def test_the_vectors_and_queries_are_left_as_they_were(config):
    vectors, queries = VECTORS.copy(), QUERIES.copy()
    make(config).build(vectors).search(queries, 10)
    np.testing.assert_array_equal(vectors, VECTORS)
    np.testing.assert_array_equal(queries, QUERIES)


def test_equal_recipes_have_equal_identities(config):
    assert identity(make(config)) == identity(make(config))


def test_what_is_closed_can_be_deleted(index, config, tmp_path):
    index.save(tmp_path)
    opened = make(config).open(tmp_path)
    opened.close()
    for file in tmp_path.iterdir():
        file.unlink()
