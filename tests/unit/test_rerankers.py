from dataclasses import dataclass

import numpy as np
import pytest

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError, Unavailable
from bench.identity import identity
from bench.qrels import Qrels
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.rerankers.overlap import Overlap
from bench.rerankers.pairs import PairReranker, PairScores
from bench.rerankers.unchanged import Unchanged
from bench.runs import Run
from bench.text.analyzer import Analyzer

LOGITS = {"veinte": 20.0, "veinticinco": 25.0, "treinta": 30.0, "nada": -3.0}


@dataclass(frozen=True, kw_only=True)
class Known:
    """A number known for every document, whatever the query; one token is cut off `nada`."""

    def score(self, queries, documents):
        assert len(queries) == len(documents)
        cut = np.array([doc == "nada" for doc in documents], np.int32)
        return PairScores(np.array([LOGITS[doc] for doc in documents], np.float64), cut)


def collection(queries=("¿cuántos?",)):
    docs = tuple(Doc(id=text[:6], text=text) for text in LOGITS)
    asked = tuple(Query(id=f"q{i}", text=text) for i, text in enumerate(queries))
    return Collection(name="numbers", docs=docs, queries=asked, qrels=Qrels.of({}))


def first_stage(*rankings):
    of = collection(["¿cuántos?"] * len(rankings))
    depth = max(map(len, rankings), default=0)
    rows = np.full((len(rankings), depth), -1)
    for query, ranking in enumerate(rankings):
        rows[query, : len(ranking)] = of.doc_ids.rows([text[:6] for text in ranking])
    scores = np.broadcast_to(np.arange(depth, 0, -1.0), rows.shape)
    return Run(of.query_ids, of.doc_ids, rows, scores), of


def texts(run, of, query=0):
    return [of.docs[row].text for row in run.rows[query] if row >= 0]


@pytest.mark.parametrize("seed", range(5))
def test_order_depends_on_the_texts_whatever_the_order_of_candidates(seed):
    shuffled = np.random.default_rng(seed).permutation(list(LOGITS)).tolist()
    run, of = first_stage(shuffled)
    reranked = PairReranker(scorer=Known()).rerank(run, of)
    assert texts(reranked, of) == ["treinta", "veinticinco", "veinte", "nada"]
    assert reranked.scores[0].tolist() == [30, 25, 20, -3]
    assert reranked.stages["first"].ranks[0].tolist() == [
        1 + shuffled.index(text) for text in texts(reranked, of)
    ]
    assert reranked.stages["rerank"].ranks[0].tolist() == [1, 2, 3, 4]
    assert reranked.stages["rerank"].scores[0].tolist() == [30, 25, 20, -3]


def test_what_lies_deeper_follows_in_its_order_and_has_no_rank_of_the_reranker():
    run, of = first_stage(["veinte", "veinticinco", "nada", "treinta"])
    reranked = PairReranker(scorer=Known(), depth=2).rerank(run, of)
    assert texts(reranked, of) == ["veinticinco", "veinte", "nada", "treinta"]
    assert reranked.stages["first"].ranks[0].tolist() == [2, 1, 3, 4]
    assert reranked.stages["rerank"].ranks[0].tolist() == [1, 2, 0, 0]
    assert np.isneginf(reranked.stages["rerank"].scores[0, 2:]).all()


def test_an_empty_ranking_stays_empty_among_others_and_alone():
    run, of = first_stage(["veinte", "treinta"], [], ["nada"])
    reranked = PairReranker(scorer=Known()).rerank(run, of)
    assert [texts(reranked, of, query) for query in range(3)] == [["treinta", "veinte"], [], ["nada"]]
    alone, of = first_stage([])
    assert PairReranker(scorer=Known(), interpolate=0.5).rerank(alone, of).returned.tolist() == [0]


def test_one_query_is_reranked_as_among_others():
    run, of = first_stage(["veinte", "treinta"], ["nada", "veinticinco"])
    single = Run(run.queries[1:], run.docs, run.rows[1:], run.scores[1:])
    among = PairReranker(scorer=Known()).rerank(run, of)
    assert PairReranker(scorer=Known()).rerank(single, of).rows.tolist() == among.rows[1:].tolist()


def test_interpolation_adds_z_scores_of_both_stages():
    run, of = first_stage(["nada", "veinte", "veinticinco"])
    deviation = np.array([-17, 6, 11]) / np.sqrt((17**2 + 6**2 + 11**2) / 3)
    first = np.array([1, 0, -1]) * 1.5**0.5
    for w in (0.3, 0.9):
        reranked = PairReranker(scorer=Known(), interpolate=w).rerank(run, of)
        expected = dict(zip(["nada", "veinte", "veinticinco"], (1 - w) * deviation + w * first, strict=True))
        found = dict(zip(texts(reranked, of), reranked.scores[0], strict=True))
        assert found == pytest.approx(expected)
        assert list(found) == sorted(expected, key=expected.get, reverse=True)
        assert reranked.stages["rerank"].scores[0].tolist() == [LOGITS[text] for text in found]


def test_interpolation_over_one_keeps_the_first_stage_and_equal_scores_weigh_nothing():
    run, of = first_stage(["nada", "veinte", "treinta"])
    assert texts(PairReranker(scorer=Known(), interpolate=1).rerank(run, of), of) == [
        "nada",
        "veinte",
        "treinta",
    ]
    level = Run(run.queries, run.docs, run.rows, np.ones((1, 3)))
    mixed = PairReranker(scorer=Known(), interpolate=0.5).rerank(level, of)
    assert texts(mixed, of) == ["treinta", "veinte", "nada"]


def test_nothing_is_lost_below_what_is_interpolated():
    run, of = first_stage(["veinte", "nada", "treinta", "veinticinco"], ["nada", "treinta", "veinte"])
    reranked = PairReranker(scorer=Known(), depth=2, interpolate=0.5).rerank(run, of)
    assert texts(reranked, of, 0)[2:] == ["treinta", "veinticinco"]
    assert texts(reranked, of, 1)[2:] == ["veinte"]


def test_no_reranker_leaves_the_run_as_it_is():
    run, of = first_stage(["nada", "veinte"])
    assert Unchanged().rerank(run, of) is run


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "rerank_depth=0: a whole number from 1"),
        ({"interpolate": 1.5}, r"interpolate=1\.5: from 0"),
        ({"interpolate": float("nan")}, "interpolate=nan"),
    ],
)
def test_settings_of_a_reranker_are_checked(settings, message):
    with pytest.raises(BenchError, match=message):
        PairReranker(scorer=Known(), **settings)


def overlap(query, *documents):
    scorer = Overlap(analyzer=Analyzer(language="spanish"))
    return scorer.score([query] * len(documents), documents).values.tolist()


def test_overlap_is_the_mean_share_of_terms_and_of_their_grams():
    scorer = Overlap(analyzer=Analyzer(language="plain"))
    # Of "plazo" and "dos": 2 terms; the grams " pla", "plaz", "lazo", "azo " and " dos", "dos ".
    found = scorer.score(["plazo dos"] * 3, ["el plazo dos", "plaza uno", "nada"])
    assert found.values.tolist() == pytest.approx([1.0, (0 + 2 / 6) / 2, 0.0])
    assert found.cut.tolist() == [0, 0, 0]


def test_overlap_prefers_more_of_the_question_and_ignores_repetition():
    best, part, other = overlap(
        "plazo de devolución", "El plazo de las devoluciones", "Plazo, plazo y plazo", "Envío gratis"
    )
    assert best == 1.0
    assert best > part > other == 0.0


def test_overlap_of_a_question_without_terms_is_nothing():
    assert overlap("¿?", "El plazo", "") == [0.0, 0.0]
    assert overlap("plazo", "") == [0.0]


def test_settings_of_a_cross_encoder_are_checked():
    for setting, message in (
        ({"device": "gpu"}, "cross_encoder.device='gpu': one of auto, cpu, cuda"),
        ({"dtype": "float8"}, "cross_encoder.dtype='float8': one of float32, bfloat16, float16"),
        ({"activation": "softmax"}, "cross_encoder.activation='softmax'; known: none, sigmoid"),
        ({"max_length": 0}, "cross_encoder.max_length=0: a whole number from 1"),
        ({"batch_tokens": 1.5}, "cross_encoder.batch_tokens=1.5: a whole number from 1"),
        ({"backend": "openvino"}, "cross_encoder.backend='openvino': one of torch, onnx"),
        (
            {"backend": "onnx", "dtype": "bfloat16"},
            "cross_encoder.dtype=bfloat16: it computes on the CPU in float32",
        ),
    ):
        with pytest.raises(BenchError, match=message.replace(".", r"\.")):
            CrossEncoderScorer(model="anything", **setting)


@pytest.mark.parametrize("model", ["nobody/nothing", "./no/such/folder"])
def test_a_model_that_cannot_be_had_is_named_with_its_alternatives(model):
    scorer = CrossEncoderScorer(model=model)
    with pytest.raises(Unavailable, match=rf"cross_encoder.model={model}: .*; reranker=overlap"):
        scorer.check(100)
    with pytest.raises(Unavailable, match="reranker=overlap"):
        scorer.score(["plazo"], ["plazo"])


def test_pair_scores_are_one_for_each_pair():
    with pytest.raises(ValueError, match=r"scores \(2,\) and tokens cut \(1,\)"):
        PairScores(np.zeros(2), np.zeros(1, np.int32))


def test_identity_of_a_reranker_holds_its_scorer_and_how_deep_it_goes():
    assert (
        identity(PairReranker(scorer=Known()))
        == "rerankers.pairs.PairReranker(scorer=tests.unit.test_rerankers.Known(), depth=50, interpolate=0)"
    )
