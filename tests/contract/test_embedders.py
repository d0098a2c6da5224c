"""What holds for every embedder that has a yaml in conf/embedder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import OmegaConf
from tests.contract.embedding_server import serving
from tokenizers import Tokenizer, models, pre_tokenizers

os.environ["HF_HUB_OFFLINE"] = "1"

from bench.embedders.e5_small import E5Small
from bench.embedders.sentence_transformer import SentenceTransformerEmbedder
from bench.errors import BenchError, Unavailable
from bench.packaged.e5_small import e5_small_folder

CONF = Path(__file__).parents[2] / "conf" / "embedder"
TEXTS = [
    "Puedes devolver unas zapatillas usadas durante treinta días si conservas el recibo.",
    "Los pedidos llegan en tres a cinco días laborables.",
    "ok",
    "",
]


@pytest.fixture(scope="module")
def e5_folder():
    try:
        E5Small().check(0)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return e5_small_folder()


@pytest.fixture(scope="module")
def served():
    with pytest.MonkeyPatch.context() as patch, serving() as served:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield served


@pytest.fixture(scope="module")
def static_folder(tmp_path_factory):
    model2vec = pytest.importorskip("model2vec", reason="the extra model2vec is not installed")
    words = {word: i for i, word in enumerate(sorted({"?", *re.findall(r"\w+", " ".join(TEXTS))}))}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("static") / "model"
    vectors = np.random.default_rng(0).normal(size=(len(words), 16)).astype(np.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(folder)
    return folder


def here(name, request):
    """What stands in for what an option asks of the user or of the hub, where something small can."""
    match name:
        case "sentence_transformer":
            return {"model": str(request.getfixturevalue("e5_folder"))}
        case "potion_multilingual":
            return {"model": str(request.getfixturevalue("static_folder"))}
        case "openai_compatible":
            return {"url": request.getfixturevalue("served").url, "key_env": None}
    return {}


OPTIONS = [(path.stem, {}) for path in sorted(CONF.glob("*.yaml"))]


@pytest.fixture(
    scope="module",
    params=[*OPTIONS, ("all_minilm", {"backend": "onnx"})],
    ids=lambda case: "-".join([case[0], *case[1].values()]),
)
def embedder(request):
    name, settings = request.param
    config = OmegaConf.load(CONF / f"{name}.yaml")
    try:
        part = instantiate(OmegaConf.merge(config, here(name, request), settings))
        if hasattr(part, "check"):
            part.check(len(TEXTS))
    except InstantiationException as error:
        # Hydra wraps what the import of a part's module raises where its library is missing.
        if "is not installed" not in str(error):
            raise
        pytest.skip(str(error))
    except Unavailable as reason:
        pytest.skip(str(reason).split(" (")[0])
    return part


@pytest.mark.parametrize("side", ["embed_documents", "embed_queries"])
def test_each_text_gets_one_finite_float32_vector_and_a_count_of_what_was_cut(embedder, side):
    vectors = getattr(embedder, side)(TEXTS)
    assert vectors.values.dtype == np.float32
    assert vectors.values.shape[0] == len(TEXTS)
    assert np.isfinite(vectors.values).all()
    assert vectors.cut.dtype == np.int32
    assert vectors.cut.tolist() == [0] * len(TEXTS)


@pytest.mark.parametrize("side", ["embed_documents", "embed_queries"])
def test_no_texts_give_no_vectors_of_the_same_dimension(embedder, side):
    embed = getattr(embedder, side)
    assert embed([]).values.shape == (0, embed(["ok"]).values.shape[1])
    assert embed([]).values.dtype == np.float32


def test_a_vector_depends_on_its_text_alone(embedder):
    together = embedder.embed_documents(TEXTS).values
    backwards = embedder.embed_documents(TEXTS[::-1]).values[::-1]
    alone = np.concatenate([embedder.embed_documents([text]).values for text in TEXTS])
    np.testing.assert_allclose(together, backwards, atol=1e-5)
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_different_texts_get_different_vectors(embedder):
    first, second = embedder.embed_documents(TEXTS[:2]).values
    assert not np.allclose(first, second, atol=1e-2)


def test_the_identity_is_stable_and_names_no_path(embedder):
    again = type(embedder)(**{name: getattr(embedder, name) for name in embedder.__dataclass_fields__})
    assert embedder.identity() == again.identity()
    assert str(Path.home()) not in embedder.identity()
    # A slash stands in a hub's name and in an address, but begins nothing.
    assert not re.search(r"(?<![\w:/])/", embedder.identity())


def test_a_query_and_a_document_of_one_text_differ_with_e5(e5_folder):
    embedder = E5Small()
    query = embedder.embed_queries(TEXTS[:1]).values
    document = embedder.embed_documents(TEXTS[:1]).values
    assert not np.allclose(query, document, atol=1e-3)


@pytest.mark.parametrize("name", ["e5_small", "use_multilingual"])
def test_a_spanish_question_is_nearer_to_its_answer_than_to_another_policy(name):
    embedder = instantiate(OmegaConf.load(CONF / f"{name}.yaml"))
    try:
        embedder.check(2) if hasattr(embedder, "check") else None
    except Unavailable as reason:
        pytest.skip(str(reason))
    (query,) = embedder.embed_queries(["¿puedo devolver unas zapatillas usadas?"]).values
    answer, other = embedder.embed_documents(TEXTS[:2]).values
    assert query @ answer > query @ other


def test_the_prompts_reach_the_model(e5_folder):
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(e5_folder), device="cpu", local_files_only=True)
    for embed, prompt in (
        (SentenceTransformerEmbedder(model=str(e5_folder), device="cpu").embed_queries, "query: "),
        (SentenceTransformerEmbedder(model=str(e5_folder), device="cpu").embed_documents, "passage: "),
        (SentenceTransformerEmbedder(model=str(e5_folder), device="cpu", query_prompt="").embed_queries, ""),
        (E5Small(device="cpu").embed_documents, "passage: "),
    ):
        expected = plain.encode([prompt + text for text in TEXTS], prompt="")
        np.testing.assert_allclose(embed(TEXTS).values, expected, atol=1e-5)


def test_what_lies_beyond_the_longest_input_is_counted_and_not_read(e5_folder):
    from transformers import AutoTokenizer

    body = " ".join(["devolución"] * 899)
    long = [f"{body} zapatillas", f"{body} paraguas", "corto"]
    vectors = E5Small().embed_documents(long)
    tokens = AutoTokenizer.from_pretrained(e5_folder)(f"passage: {long[0]}", verbose=False)["input_ids"]
    assert vectors.cut.tolist() == [len(tokens) - 512, vectors.cut[1], 0]
    assert vectors.cut[0] > 300
    np.testing.assert_allclose(vectors.values[0], vectors.values[1], atol=1e-5)


def test_a_shorter_longest_input_cuts_more_and_leaves_the_shared_model_as_it_was(e5_folder):
    text = ["plazo de devolución " * 30]
    whole, short = E5Small(), E5Small(max_length=16)
    before = whole.embed_documents(text)
    cut = short.embed_documents(text)
    after = whole.embed_documents(text)
    assert before.cut[0] == after.cut[0] == 0
    assert cut.cut[0] > 40
    np.testing.assert_array_equal(before.values, after.values)
    assert not np.allclose(before.values, cut.values, atol=1e-3)


def test_a_longest_input_beyond_what_the_model_can_read_is_refused(e5_folder):
    embedder = SentenceTransformerEmbedder(model=str(e5_folder), device="cpu", max_length=600)
    with pytest.raises(BenchError, match=r"embedder.max_length=600: .* reads 512 tokens at most"):
        embedder.embed_documents(TEXTS)


def test_a_model_without_a_longest_input_cuts_nothing_and_takes_no_max_length(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    tokenizer = Tokenizer(models.WordLevel({"hola": 0, "?": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    static = StaticEmbedding(tokenizer, embedding_weights=np.eye(2, 4, dtype=np.float32))
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path))
    whole = SentenceTransformerEmbedder(model=str(tmp_path), device="cpu")
    assert whole.embed_queries(["hola " * 900]).cut.tolist() == [0]
    with pytest.raises(BenchError, match=r"embedder.max_length=64: .* reads texts of any length"):
        SentenceTransformerEmbedder(model=str(tmp_path), device="cpu", max_length=64).embed_queries(["hola"])
