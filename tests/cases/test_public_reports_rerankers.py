"""Cases 23 and 24 and their kin: a score that meets the wrong document, texts that are cut, prefixes left out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf
from tests.cases.everything import collection_of, evaluated, options_of, reranker_of, written
from tests.cases.parts import ShortSighted, ShortSightedScorer
from tests.cli.program import bench, jobs, on
from tests.conftest import make_run, ranking_of

from bench.cache import Cache
from bench.cached import CachedEmbedder, CachedScorer
from bench.config import conf_folder
from bench.embedders.hashing import Hashing
from bench.embedders.sentence_transformer import prompt_of
from bench.embedders.torch_model import Facts
from bench.errors import BenchError
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.rerankers.pairs import PairReranker, PairScores
from bench.runs import Run

OURS = ("--config-dir", str(Path(__file__).parent / "conf"))
NUMBERS = {"a": 20.0, "b": 25.0, "c": 30.0, "d": -3.0, "e": 24.999999999}
TEXTS = {doc: f"texto {doc}" for doc in NUMBERS}


class Known:
    """A number for every text, whatever the query; it writes down what it was asked."""

    def __init__(self):
        self.pairs = []

    def identity(self):
        return "Known()"

    def score(self, queries, documents):
        self.pairs += list(zip(queries, documents, strict=True))
        values = np.array(
            [NUMBERS[text[-1]] + 100 * len(query) for query, text in self.pairs[-len(queries) :]]
        )
        return PairScores(values, np.zeros(len(values), np.int32))


# Case 23: a score was put on another document than it was computed for, or many scores were one.

BY_NUMBER = ["c", "b", "e", "a", "d"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("known_before", [[], ["c", "a"], ["d", "b", "e"], ["a", "b", "c", "d", "e"]])
def test_a_score_is_its_texts_own_in_whatever_order_and_whatever_the_cache_holds(
    seed, known_before, tmp_path
):
    random = np.random.default_rng(seed)
    of = collection_of(TEXTS, {"q1": "x", "q2": "xx", "q3": "xxx"})
    if known_before:
        CachedScorer(Known(), Cache(tmp_path)).score(
            ["xx"] * len(known_before), [TEXTS[d] for d in known_before]
        )
    kept = {query: random.permutation([*NUMBERS])[: 5 - i].tolist() for i, query in enumerate(of.query_ids)}
    scorer = CachedScorer(Known(), Cache(tmp_path))
    reranked = PairReranker(scorer=scorer).rerank(make_run(kept, docs=[*NUMBERS]), of)
    for i, (query, docs) in enumerate(kept.items()):
        ranking = [doc for doc in BY_NUMBER if doc in docs]
        assert ranking_of(reranked, query) == ranking
        numbers = [NUMBERS[doc] + 100 * (i + 1) for doc in ranking]
        assert reranked.scores[i, : len(docs)].tolist() == numbers
        assert reranked.stages["rerank"].scores[i, : len(docs)].tolist() == numbers
        first = [1 + docs.index(doc) for doc in ranking]
        assert reranked.stages["first"].ranks[i, : len(docs)].tolist() == first


def test_a_pair_is_scored_with_its_own_query_and_once(tmp_path):
    of = collection_of({"a": "texto a", "b": "texto b"}, {"q1": "uno", "q2": "dos", "q3": "uno"})
    run = make_run(dict.fromkeys(("q1", "q2", "q3"), ("a", "b")))
    known = Known()
    scorer = CachedScorer(known, Cache(tmp_path))
    for _ in range(2):
        PairReranker(scorer=scorer).rerank(run, of)
    assert sorted(known.pairs) == [
        ("dos", "texto a"),
        ("dos", "texto b"),
        ("uno", "texto a"),
        ("uno", "texto b"),
    ]


def test_large_logits_keep_their_ranks_and_are_not_squashed():
    of = collection_of({"a": "texto a", "b": "texto b", "c": "texto c"}, {"q": "¿?"})
    for interpolate in (0.0, 0.3):
        reranked = PairReranker(scorer=Known(), interpolate=interpolate).rerank(
            make_run({"q": ["a", "b", "c"]}), of
        )
        assert len(set(reranked.scores[0].tolist())) == 3
        assert reranked.stages["rerank"].scores[0].tolist() == sorted(
            reranked.stages["rerank"].scores[0].tolist(), reverse=True
        )
        assert len(set(reranked.stages["rerank"].scores[0].tolist())) == 3
    assert CrossEncoderScorer(model="any").activation == "none"


# Case 24: texts were cut in silence, the question among them.


def test_what_was_cut_is_in_the_record_for_texts_and_for_pairs(in_folder):
    filler = "relleno " * 899
    texts = {"long": f"{filler}respuesta", "short": "respuesta breve", "other": f"{filler}otra cosa"}
    folder = written(in_folder / "shop", texts, {"q": "la respuesta"}, {"q": {"long": 1}})
    words = (
        *OURS,
        "retriever=dense",
        "store=exact",
        "embedder=short_sighted",
        "reranker=short_sighted",
        "k=3",
    )
    cut = [900 - 512, 901 - 512]

    answer = bench(*words, on=(*on(folder)[:2], "timing=off"))

    assert answer.code == 0, answer.err
    (job,) = jobs().values()
    facts = json.loads((job / "manifest.json").read_text())["facts"]
    assert facts["reranker"] == {"pairs": 3, "pairs_cut": 2, "tokens_cut": sum(cut)}
    assert {name: facts["index"][name] for name in facts["index"] if "cut" in name} == {
        "documents_cut": 2,
        "documents_tokens_cut": sum(cut),
        "queries_cut": 0,
        "queries_tokens_cut": 0,
    }


def test_the_count_of_what_was_cut_is_kept_with_the_vector_and_with_the_score(tmp_path):
    long, short = "palabra " * 40, "palabra"
    for _ in range(2):
        embedder = CachedEmbedder(ShortSighted(words=16), Cache(tmp_path))
        assert embedder.embed_documents([short, long]).cut.tolist() == [0, 24]
        assert embedder.embed_queries([long]).cut.tolist() == [24]
        scorer = CachedScorer(ShortSightedScorer(words=16), Cache(tmp_path))
        assert scorer.score(["x", "x"], [long, short]).cut.tolist() == [24, 0]
        assert scorer.facts() == {"pairs": 2, "pairs_cut": 1, "tokens_cut": 24}


# Prefixes that a model was trained with were left out, or vectors with and without them were mixed.


def test_every_option_of_the_e5_family_has_its_prefixes():
    found = {}
    for option in options_of("embedder"):
        config = OmegaConf.load(conf_folder() / "embedder" / f"{option}.yaml")
        if "e5-" in str(OmegaConf.to_container(config).get("model", "")):
            found[option] = (config.query_prompt, config.document_prompt)
    assert found == dict.fromkeys(("e5_base", "e5_large"), ("query: ", "passage: "))


def facts(**said):
    return Facts(dimension=4, longest_input=512, positions=512, default_prompt_name=None, prompts=said)


@pytest.mark.parametrize(
    "model",
    [
        "intfloat/multilingual-e5-base",
        "intfloat/e5-large-v2",
        "./models/E5-small-ours",
        "me5-small",
        "e5-base-4k",
    ],
)
@pytest.mark.parametrize("task", ["query", "document"])
def test_a_model_of_the_e5_family_that_declares_no_prefix_is_asked_for_it(model, task):
    with pytest.raises(
        BenchError, match=r"embedder\.query_prompt='query: ' embedder\.document_prompt='passage: '"
    ):
        prompt_of(model, None, facts=facts(), task=task)
    assert prompt_of(model, "", facts=facts(), task=task) == ""
    assert prompt_of(model, "q: ", facts=facts(query="query: "), task=task) == "q: "
    declared = facts(query="query: ", passage="passage: ")
    assert prompt_of(model, None, facts=declared, task="query") == "query: "
    assert prompt_of(model, None, facts=declared, task="document") == "passage: "


@pytest.mark.parametrize(
    "model", ["BAAI/bge-m3", "intfloat/multilingual-e5-large-instruct", "se5-basement", "ada"]
)
def test_a_model_of_another_family_has_the_prefix_that_it_declares_or_none(model):
    assert prompt_of(model, None, facts=facts(), task="query") == ""
    assert prompt_of(model, None, facts=facts(query="find: "), task="query") == "find: "


class Prefixed:
    """The hashing embedder behind prefixes."""

    def __init__(self, query, document):
        self.query, self.document = query, document

    def identity(self):
        return f"Prefixed({self.query!r}, {self.document!r})"

    def embed_documents(self, texts):
        return Hashing().embed_documents([self.document + text for text in texts])

    def embed_queries(self, texts):
        return Hashing().embed_documents([self.query + text for text in texts])


def test_a_vector_in_the_cache_belongs_to_its_prefix(tmp_path):
    prefixes = [("query: ", "passage: "), ("", ""), ("query: ", ""), ("passage: ", "query: ")]
    for _ in range(2):
        for query, document in prefixes:
            plain, kept = (
                Prefixed(query, document),
                CachedEmbedder(Prefixed(query, document), Cache(tmp_path)),
            )
            for side in ("embed_queries", "embed_documents"):
                expected = getattr(plain, side)(["plazo", "garantía"]).values
                np.testing.assert_array_equal(getattr(kept, side)(["plazo", "garantía"]).values, expected)


# A judge was called, and gave points, where nothing had been retrieved.


@pytest.mark.parametrize("option", options_of("reranker"))
def test_nothing_retrieved_is_reranked_to_nothing_without_a_model(option):
    of = collection_of(TEXTS, {"q": "texto"}, {"q": {"a": 1}})
    nothing = Run(("q",), of.doc_ids, np.full((1, 5), -1), np.zeros((1, 5)))
    before = set(sys.modules)
    reranked = reranker_of(option).rerank(nothing, of)
    assert reranked.returned.tolist() == [0]
    assert not {"torch", "sentence_transformers"} & (set(sys.modules) - before)
    found = evaluated({"q": {"a": 1}}, {"q": []}, ks=[5])
    assert {values[0] for (name, _), values in found.values.items() if name != "judged"} == {0.0}


def test_a_scorer_is_asked_for_no_pair_that_is_not_there(tmp_path):
    known = Known()
    of = collection_of(TEXTS, {"q1": "x", "q2": "y"})
    PairReranker(scorer=CachedScorer(known, Cache(tmp_path))).rerank(
        make_run({"q1": [], "q2": ["a"]}, docs=[*TEXTS]), of
    )
    assert known.pairs == [("y", "texto a")]
