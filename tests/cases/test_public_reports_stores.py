"""Cases 12 to 15 and their kin: asking for more than there is, padded lists, effective settings, and cosine."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases.everything import (
    built,
    collection_of,
    each_fusion,
    each_store,
    fusion_of,
    hybrid_of,
    options_of,
    reranker_of,
    store_of,
    unit_vectors,
    written,
)
from tests.cli.program import bench, grid, on
from tests.conftest import ranking_of

from bench.artifacts import write_trec
from bench.embedders import Vectors
from bench.embedders.hashing import Hashing
from bench.errors import Unsuitable
from bench.evaluate import evaluate
from bench.metrics import MEASURES
from bench.record import context_tokens
from bench.retrievers.bm25 import BM25, METHODS
from bench.retrievers.dense import Dense
from bench.runs import Run
from bench.text.analyzer import Analyzer

THREE = {"a": "plazo uno", "b": "plazo dos", "c": "coste plazo"}
JUDGED = {"q": {"a": 1, "b": 1}}
SHOP = collection_of(THREE, {"q": "plazo"}, JUDGED)


class Given:
    """An embedder that has a vector for every text."""

    def __init__(self, vectors):
        self.vectors = vectors

    def embed_documents(self, texts):
        return Vectors(
            np.array([self.vectors[text] for text in texts], np.float32), np.zeros(len(texts), np.int32)
        )

    embed_queries = embed_documents


def suitable(option, count):
    try:
        store_of(option).check(count)
    except Unsuitable:
        return False
    return True


# Case 12: k beyond the corpus crashed, and k beyond what came back changed the denominator.


def retrievers():
    analyzer = Analyzer(language="plain")
    yield from ((engine, BM25(analyzer=analyzer, engine=engine)) for engine in METHODS)
    for option in options_of("store"):
        if suitable(option, len(THREE)):
            yield option, Dense(embedder=Hashing(), store=store_of(option))
    yield from ((option, hybrid_of(option)) for option in options_of("fusion"))


def test_five_of_three_documents_are_three_whatever_retrieves_them():
    tried = dict(retrievers())
    assert {"exact", "faiss_flat", "faiss_hnsw", "bm25s", "rank_bm25", "rrf", "weighted"} <= set(tried)
    for name, retriever in tried.items():
        run = retriever.index(SHOP.docs).search(SHOP.queries, 5)
        assert sorted(ranking_of(run, "q")) == ["a", "b", "c"], name
        found = evaluate(run, SHOP.qrels, ks=[5], measures=list(MEASURES.values()))
        assert (found.mean("precision", 5), found.mean("recall", 5)) == (0.4, 1.0), name


@pytest.mark.parametrize("option", ["none", "overlap"])
def test_a_reranker_of_three_candidates_that_could_take_fifty_has_three(option):
    run = hybrid_of("rrf").index(SHOP.docs).search(SHOP.queries, 100)
    assert reranker_of(option).rerank(run, SHOP).returned.tolist() == [3]


def test_k_beyond_the_corpus_runs_and_is_said(in_folder):
    folder = written(in_folder / "shop", THREE, {"q": "plazo"}, JUDGED)

    answer = bench("retriever=bm25", "reranker=overlap", "k=[5,100]", on=on(folder))

    assert answer.code == 0, answer.err
    assert "shop: k=100 is more than its 3 documents" in answer.err
    five = grid().query("k == 5")
    assert (five["precision"].tolist(), five["recall"].tolist()) == ([0.4], [1.0])
    assert grid().query("k == 100")["precision"].tolist() == [0.02]


# Case 13: FAISS fills short lists with row -1, which is the last document to an array.

FORTY = unit_vectors(40)
MANY = {f"d{i:02}": f"texto {i}" for i in range(40)}


def narrow():
    return store_of("faiss_ivf", nlist=8, search={"nprobe": 1})


def test_the_library_pads_as_it_is_said_to():
    index = narrow().build(FORTY)
    scores, rows = index._index.search(unit_vectors(30, seed=1), 10)
    assert (rows == -1).any()
    assert (scores[rows == -1] == np.finfo(np.float32).min).all()


def test_what_was_not_found_is_no_hit_and_short_lists_are_counted():
    vectors = {text: FORTY[i] for i, text in enumerate(reversed(MANY.values()))}
    questions = {f"q{i:02}": f"pregunta {i}" for i in range(30)}
    vectors |= dict(zip(questions.values(), unit_vectors(30, seed=1), strict=True))
    of = collection_of(MANY, questions)
    index = Dense(embedder=Given(vectors), store=narrow()).index(of.docs)
    run = index.search(of.queries, 10)
    hits = narrow().build(FORTY).search(unit_vectors(30, seed=1), 10)
    np.testing.assert_array_equal(run.rows, hits.rows)
    short = int((run.returned < 10).sum())
    assert short > 0
    assert index.facts()["short_lists"] == short


@each_store
def test_every_store_ends_a_list_in_empty_places_whatever_is_asked_of_it(option):
    count = 300
    index = built(option)
    hits = index.search(unit_vectors(5, seed=1), count + 10)
    assert (hits.rows[:, count:] == -1).all()
    np.testing.assert_array_equal(hits.rows < 0, np.isneginf(hits.scores))
    assert hits.rows.max() < count


def test_an_empty_place_is_the_last_document_to_nobody(tmp_path):
    # Row -1 of the documents is the first id: it is long, relevant, and must not be read from an empty place.
    of = collection_of(
        {"a": "plazo " * 50, "b": "plazo uno", "c": "coste"}, {"q": "plazo"}, {"q": {"a": 2, "b": 1}}
    )
    tight = Run(("q",), of.doc_ids, np.array([[1, 0]]), np.array([[2.0, 1.0]]))
    padded = Run(("q",), of.doc_ids, np.array([[1, 0, -1, -1]]), np.array([[2.0, 1.0, 0.0, 0.0]]))
    assert of.docs[-1].id == "a"
    lengths = of.doc_tokens
    for k in (1, 2, 3, 4):
        assert context_tokens(padded, lengths, k).tolist() == context_tokens(tight, lengths, k).tolist()
    for name in (*options_of("fusion"),):
        sides = ({"one": run, "two": run} for run in (tight, padded))
        fused = [fusion_of(name).fuse(side, dict.fromkeys(side, 1.0), depth=4) for side in sides]
        assert ranking_of(fused[0], "q") == ranking_of(fused[1], "q") == ["b", "c"]
    for name in ("none", "overlap"):
        reranked = [reranker_of(name).rerank(run, of) for run in (tight, padded)]
        assert ranking_of(reranked[0], "q") == ranking_of(reranked[1], "q")
    for run, name in ((tight, "tight"), (padded, "padded")):
        write_trec(run, tag="t")(tmp_path / name)
    assert (tmp_path / "tight").read_text() == (tmp_path / "padded").read_text()
    assert tight.to_table().equals(padded.to_table())
    for measure in MEASURES.values():
        values = [
            evaluate(run, of.qrels, ks=[4], measures=[measure]).values[measure.key, 4][0]
            for run in (tight, padded)
        ]
        assert values[0] == values[1], measure


# Case 14: a graph was searched less far than k, and nobody was told.


def test_a_graph_is_searched_at_least_as_far_as_k_and_both_are_told():
    vectors = dict(zip(MANY.values(), FORTY, strict=True)) | {"pregunta": unit_vectors(1, seed=1)[0]}
    of = collection_of(MANY, {"q": "pregunta"})
    graph = store_of("faiss_hnsw", search={"efSearch": 10})
    index = Dense(embedder=Given(vectors), store=graph).index(of.docs)
    assert index.search(of.queries, 30).returned.tolist() == [30]
    facts = index.facts()
    assert (facts["parameters"]["efSearch"], facts["parameters"]["efSearch_used"]) == (10, 30)
    assert facts["short_lists"] == 0


@each_store
def test_asking_for_fifty_gives_fifty_unless_a_list_is_short_and_then_it_is_seen(option):
    index = built(option)
    hits = index.search(unit_vectors(20, seed=1), 50)
    parameters = index.parameters()
    if "nprobe" not in parameters:
        assert (hits.rows >= 0).all()
    if "efSearch" in parameters:
        assert parameters["efSearch_used"] >= 50


# Case 15: "cosine" was an inner product of vectors of any length.


def test_a_short_vector_in_the_right_direction_goes_before_a_long_one_beside_it():
    of = collection_of({"d1": "d1", "d2": "d2"}, {"q": "q"})
    vectors = {"d1": [0.2, 0], "d2": [3, 3], "q": [1, 0]}
    for option in options_of("store"):
        if suitable(option, 2):
            dense = Dense(embedder=Given(vectors), store=store_of(option))
            run = dense.index(of.docs).search(of.queries, 2)
            assert ranking_of(run, "q") == ["d1", "d2"], option
            close = 0.01 if "sq8" in option else 1e-4
            assert run.scores[0] == pytest.approx([1.0, 0.7071], abs=close), option


@each_store
def test_the_lengths_of_documents_and_queries_change_no_ranking(option):
    texts = {f"d{i:03}": f"texto {i}" for i in range(300)}
    questions = {f"q{i}": f"pregunta {i}" for i in range(8)}
    plain = dict(zip(texts.values(), unit_vectors(300), strict=True))
    plain |= dict(zip(questions.values(), unit_vectors(8, seed=1), strict=True))
    # Powers of two: dividing by the length gives back every bit.
    scales = 2.0 ** np.random.default_rng(2).integers(-12, 12, len(plain))
    scaled = {text: vector * scale for (text, vector), scale in zip(plain.items(), scales, strict=True)}
    of = collection_of(texts, questions)
    runs = [
        Dense(embedder=Given(vectors), store=store_of(option)).index(of.docs).search(of.queries, 10)
        for vectors in (plain, scaled)
    ]
    np.testing.assert_array_equal(runs[0].rows, runs[1].rows)
    np.testing.assert_array_equal(runs[0].scores, runs[1].scores)
    if option in ("exact", "faiss_flat", "faiss_hnsw", "faiss_ivf"):
        found = runs[0].scores[runs[0].rows >= 0]
        assert (np.abs(found) <= 1 + 1e-6).all()


@each_store
def test_a_text_without_a_vector_is_near_to_nothing_and_never_nan(option):
    texts = {f"d{i:03}": f"texto {i}" for i in range(300)}
    vectors = dict(zip(texts.values(), unit_vectors(300), strict=True))
    vectors["texto 7"] = np.zeros(32)
    vectors |= {"nada": np.zeros(32), "algo": vectors["texto 8"]}
    of = collection_of(texts, {"q1": "nada", "q2": "algo"})
    run = Dense(embedder=Given(vectors), store=store_of(option)).index(of.docs).search(of.queries, 300)
    assert np.isfinite(run.scores[run.rows >= 0]).all()
    assert ranking_of(run, "q2")[0] == "d008"
    where = ranking_of(run, "q2")
    if "d007" in where and "pq" not in option:
        assert run.scores[1, where.index("d007")] == pytest.approx(0, abs=0.02)


# The first five were not the beginning of the first fifty, or depended on the batch and on the threads.


@each_store
@pytest.mark.parametrize("depth", [20, 100])
def test_a_shorter_list_is_the_beginning_of_the_longer_one_as_a_job_searches(option, depth):
    store, queries = store_of(option), unit_vectors(6, seed=1)
    as_is = not hasattr(store, "at_depth") or store.at_depth(depth) is store
    index = built(option) if as_is else store.at_depth(depth).build(unit_vectors(300))
    deep = index.search(queries, depth)
    for k in (1, 5, 20):
        np.testing.assert_array_equal(index.search(queries, k).rows, deep.rows[:, :k])
    alone = np.concatenate([index.search(queries[i : i + 1], depth).rows for i in range(6)])
    np.testing.assert_array_equal(alone, deep.rows)


# The result of a hybrid changed with k, because k was how deep its sides were searched.


@each_fusion
def test_what_is_asked_of_a_hybrid_only_cuts_its_ranking(option):
    texts = {f"d{i:03}": f"palabra{i} palabra{i % 7} y palabra{i % 11}" for i in range(150)}
    of = collection_of(texts, {"q": "palabra3 palabra9", "r": "palabra149"})
    index = hybrid_of(option).index(of.docs)
    deep = index.search(of.queries, 100)
    for k in (1, 5, 10, 50):
        np.testing.assert_array_equal(index.search(of.queries, k).rows, deep.rows[:, :k])
