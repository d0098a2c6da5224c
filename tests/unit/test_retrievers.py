import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

from bench.collection import Doc, Query
from bench.embedders import Vectors
from bench.embedders.hashing import Hashing
from bench.errors import BenchError, Unsuitable
from bench.fusion import ReciprocalRank
from bench.identity import identity
from bench.retrievers.dense import Dense, normalised
from bench.retrievers.hybrid import Hybrid, Side
from bench.stores.exact import Exact, ExactIndex

CONF = Path(__file__).parents[2] / "conf"
TEXTS = {
    "plazo": "El plazo de devolución es de treinta días",
    "gratis": "La devolución es gratis en la tienda",
    "envio": "El envío cuesta cinco euros",
    "garantia": "La garantía dura tres años",
}
DOCS = [Doc(id=doc, text=TEXTS[doc]) for doc in sorted(TEXTS, reverse=True)]
QUERIES = [Query(id="1", text="plazo de devolución"), Query(id="2", text="cuánto dura la garantía")]


class Forgetful(Exact):
    """A store that finds the nearest vector and no other."""

    library = "forgetful"

    def build(self, vectors):
        return ForgetfulIndex(vectors)


class ForgetfulIndex(ExactIndex):
    def search(self, queries, k):
        hits = super().search(queries, k)
        hits.rows[:, 1:] = -1
        return hits


@dataclass(frozen=True, kw_only=True)
class Table:
    """Vectors by text, as they stand in a table; a text in capitals has lost two tokens."""

    vectors: dict

    def embed_documents(self, texts):
        values = np.array([self.vectors[text] for text in texts], np.float32)
        return Vectors(values, np.array([2 * text.isupper() for text in texts], np.int32))

    embed_queries = embed_documents

    def identity(self):
        return "Table()"


def dense(**settings):
    return Dense(**{"embedder": Hashing(), "store": Exact()} | settings)


def hits(run, query=0):
    found = run.rows[query] >= 0
    return dict(zip(run.docs.take(run.rows[query][found]).to_pylist(), run.scores[query][found], strict=True))


def test_length_of_a_vector_is_no_evidence():
    table = Table(vectors={"d1": [0.2, 0], "d2": [3, 3], "q": [1, 0]})
    index = dense(embedder=table).index([Doc(id="2", text="d2"), Doc(id="1", text="d1")])
    found = hits(index.search([Query(id="q", text="q")], 2))
    assert list(found) == ["1", "2"]
    assert found == pytest.approx({"1": 1.0, "2": 0.5**0.5})


def test_a_zero_vector_stays_zero_and_nothing_is_modified():
    vectors = np.array([[0, 0], [3, 4]], np.float32)
    assert normalised(vectors).tolist() == [[0, 0], pytest.approx([0.6, 0.8])]
    assert vectors.tolist() == [[0, 0], [3, 4]]
    assert normalised(np.zeros((0, 4), np.float32)).shape == (0, 4)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_lengths_neither_overflow_nor_vanish(scale):
    assert normalised(np.array([[3, 4]], np.float32) * np.float32(scale)) == pytest.approx(
        np.array([[0.6, 0.8]])
    )


def test_a_vector_without_a_length_is_refused():
    with pytest.raises(BenchError, match=r"text 1 .* not finite"):
        normalised(np.array([[1, 0], [np.nan, 0]], np.float32))


def test_dense_ranks_by_cosine_over_the_vocabulary_of_the_documents():
    run = dense().index(DOCS).search(QUERIES, 10)
    assert run.queries == ("1", "2")
    assert [next(iter(hits(run, query))) for query in (0, 1)] == ["plazo", "garantia"]
    assert run.returned.tolist() == [4, 4]


def test_queries_and_documents_of_other_lengths_are_told_apart():
    class Changing(Table):
        def embed_queries(self, texts):
            return Vectors(np.ones((len(texts), 3), np.float32), np.zeros(len(texts), np.int32))

    index = dense(embedder=Changing(vectors={"d": [1, 0]})).index([Doc(id="1", text="d")])
    with pytest.raises(BenchError, match="gave queries vectors of 3 and documents vectors of 2"):
        index.search([Query(id="q", text="q")], 1)


def test_a_title_is_read_with_the_text():
    table = Table(vectors={"Title text": [1, 0], "q": [1, 0]})
    index = dense(embedder=table).index([Doc(id="1", title="Title", text="text")])
    assert hits(index.search([Query(id="q", text="q")], 1)) == {"1": 1.0}


def test_what_was_cut_and_which_lists_are_short_is_told():
    table = Table(vectors={"D1": [0.2, 0], "d2": [3, 3], "Q": [1, 0]})
    index = dense(embedder=table, store=Forgetful()).index([Doc(id="2", text="d2"), Doc(id="1", text="D1")])
    index.search([Query(id="q", text="Q")], 5)
    assert index.facts() == {
        "parameters": {"ntotal": 2, "dim": 2},
        "index_bytes": 16,
        "documents_cut": 1,
        "documents_tokens_cut": 2,
        "queries_cut": 1,
        "queries_tokens_cut": 2,
        "short_lists": 1,
    }


def test_documents_out_of_tie_order_are_refused_lest_rows_name_the_wrong_ones():
    with pytest.raises(ValueError, match="tie order"):
        dense().index(DOCS[::-1])


def test_a_library_ties_the_retriever_to_its_stores_and_changes_no_result():
    tied = dense(store=Forgetful(), library="forgetful")
    assert tied.check(4) is None
    assert identity(tied) == identity(dense(store=Forgetful()))
    with pytest.raises(
        Unsuitable, match=r"retriever=faiss .* the store is stores.exact.Exact.* take retriever=dense"
    ):
        dense(library="faiss").check(4)


def hybrid(**sides):
    return Hybrid(sides=sides, fusion=ReciprocalRank())


def test_each_side_is_searched_at_its_own_depth_and_asking_for_less_only_cuts():
    index = hybrid(
        words=Side(retriever=dense(embedder=Hashing(seed=1)), depth=1),
        senses=Side(retriever=dense(), depth=3),
    ).index(DOCS)
    run = index.search(QUERIES, 100)
    assert (run.stages["words"].ranks > 0).sum(axis=1).tolist() == [1, 1]
    assert (run.stages["senses"].ranks > 0).sum(axis=1).tolist() == [3, 3]
    assert index.search(QUERIES, 2).rows.tolist() == run.rows[:, :2].tolist()


def test_one_side_alone_ranks_as_it_does_without_fusion():
    alone = dense().index(DOCS).search(QUERIES, 100)
    fused = hybrid(only=Side(retriever=dense())).index(DOCS).search(QUERIES, 100)
    assert hits(fused).keys() == hits(alone).keys()
    assert list(hits(fused)) == list(hits(alone))


def test_facts_of_a_hybrid_are_those_of_its_sides_and_go_into_json():
    facts = hybrid(u=Side(retriever=dense()), v=Side(retriever=dense())).index(DOCS).facts()
    assert facts["parameters"] == {side: {"ntotal": 4, "dim": 256} for side in "uv"}
    assert facts["index_bytes"] == 2 * 4 * 256 * 4
    assert json.loads(json.dumps(facts))["sides"]["u"]["documents_cut"] == 0


def test_identity_holds_depth_and_weight_of_every_side_in_any_order():
    u, v = Side(retriever=dense()), Side(retriever=dense(), weight=2)
    assert identity(hybrid(u=u, v=v)) == identity(hybrid(v=v, u=u))
    assert identity(hybrid(u=u)) != identity(hybrid(u=Side(retriever=dense(), depth=50)))
    assert identity(hybrid(u=v)) == identity(hybrid(u=Side(retriever=dense(), weight=2.0)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": -0.1}, r"weight=-0\.1: a number from 0"),
        ({"weight": float("nan")}, "weight=nan"),
        ({"weight": "much"}, "weight='much'"),
        ({"depth": 0}, "depth=0: a whole number from 1"),
        ({"depth": 2.5}, r"depth=2\.5"),
    ],
)
def test_settings_of_a_side_are_checked(settings, message):
    with pytest.raises(BenchError, match=message):
        Side(retriever=dense(), **settings)


@pytest.mark.parametrize("name", ["rerank", "first", "two words", ""])
def test_a_side_is_not_named_like_a_stage_of_the_reranker(name):
    with pytest.raises(BenchError, match="a side is named by letters"):
        hybrid(**{name: Side(retriever=dense())})


def test_sides_that_weigh_nothing_are_refused():
    with pytest.raises(BenchError, match="at least one side with a weight above 0"):
        hybrid(u=Side(retriever=dense(), weight=0))
    with pytest.raises(BenchError, match="at least one side"):
        hybrid()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sides": None}, "fusion.sides=None: sides by name"),
        ({"sides": {"bm25": 5}}, "fusion.sides.bm25=5: a side needs a retriever of its own"),
        (
            {"sides": {"third": {"weight": 1}}},
            r"\+fusion.sides.third={_target_: bench.retrievers.hybrid.Side",
        ),
        ({"sides": {"bm25": Side(retriever=5)}}, "fusion.sides.bm25.retriever=5: a retriever is needed"),
        ({"sides": {"u": Side(retriever=dense())}, "fusion": 5}, "fusion.method=5: a part that fuses"),
    ],
)
def test_what_is_no_side_and_no_fusion_is_named(settings, said):
    with pytest.raises(BenchError, match=said):
        Hybrid(**{"fusion": ReciprocalRank(), **settings})


def composed(tmp_path, *overrides):
    """The configuration of the hybrid retriever over small parts."""
    primary = f"""
hydra: {{searchpath: ['file://{CONF}']}}
defaults: [_self_, analyzer: plain, bm25: default, fusion: rrf, retriever: hybrid]
embedder: {{_target_: bench.embedders.hashing.Hashing}}
store: {{_target_: bench.stores.exact.Exact}}
"""
    (tmp_path / "primary.yaml").write_text(primary)
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        return compose("primary", overrides=list(overrides))


def test_sides_are_set_by_name_in_either_fusion(tmp_path):
    settings = ("fusion.sides.bm25.weight=0.3", "fusion.sides.dense.depth=50")
    for fusion in ("rrf", "weighted"):
        sides = composed(tmp_path, f"fusion={fusion}", *settings).retriever.sides
        assert (sides.bm25.weight, sides.bm25.depth, sides.dense.weight, sides.dense.depth) == (
            0.3,
            100,
            1.0,
            50,
        )
        assert sides.bm25.retriever._target_ == "bench.retrievers.bm25.BM25"


def test_the_configured_hybrid_searches(tmp_path):
    cfg = composed(tmp_path, "fusion.rank_constant=10")
    made = instantiate(cfg.retriever, _convert_="all")
    assert made.fusion == ReciprocalRank(rank_constant=10)
    run = made.index(DOCS).search(QUERIES, 10)
    assert set(run.stages) == {"bm25", "dense"}
    assert [next(iter(hits(run, query))) for query in (0, 1)] == ["plazo", "garantia"]
