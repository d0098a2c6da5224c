"""What every reranker under conf/reranker/ holds, and what the cross-encoder promises of its texts.

The cross-encoder is a real one, of two layers and 32 dimensions, with weights drawn from a seed.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from tests.contract.rerank_server import reranking
from tests.encoder import write_cross_encoder

from bench.collection import Collection, Doc, Query
from bench.errors import BenchError
from bench.identity import identity
from bench.qrels import Qrels
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.runs import Run

CONF = Path(__file__).parents[2] / "conf"
RERANKERS = sorted(path.stem for path in (CONF / "reranker").glob("*.yaml"))
QUERIES = ["plazo de devolución", "garantía", "cuesta el envío"]
DOCS = [
    "el plazo de devolución treinta días",
    "la garantía dura tres días",
    "el envío gratis",
    "envío gratis de un euros tienda",
    "devolución gratis",
]
WORDS = sorted({word for text in QUERIES + DOCS for word in text.split()})
SPECIAL = 3  # [CLS] query [SEP] document [SEP]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder of a cross-encoder that reads 64 tokens, a word a token."""
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "tiny", WORDS)


@pytest.fixture(scope="module", autouse=True)
def served():
    """A rerank server, whose address stands in the environment."""
    with pytest.MonkeyPatch.context() as patch, reranking() as served:
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("RERANK_SERVER", served.url)
        yield served


PRIMARY = f"""
hydra: {{searchpath: ['file://{CONF}']}}
defaults:
  [_self_, analyzer: plain, cross_encoder: default, late_interaction: default, endpoint: default, reranker: none]
rerank_depth: 50
"""


def made(reranker, tiny, *overrides):
    (tiny.parent / "primary.yaml").write_text(PRIMARY)
    with initialize_config_dir(str(tiny.parent), version_base="1.3"):
        # The same folder is a transformer with vectors of tokens, too.
        models = [f"{group}.model={tiny}" for group in ("cross_encoder", "late_interaction")]
        settings = [f"reranker={reranker}", *models, "cross_encoder.interpolate=0", *overrides]
        if reranker == "endpoint":
            pytest.importorskip("httpx2", reason="the extra http is not installed")
            settings += [f"endpoint.url={os.environ['RERANK_SERVER']}", "endpoint.model=tiny"]
        return instantiate(compose("primary", overrides=settings).reranker, _convert_="all")


@pytest.fixture(scope="module")
def searched():
    docs = tuple(Doc(id=f"d{i}", text=text) for i, text in enumerate(DOCS))
    queries = tuple(Query(id=f"q{i}", text=text) for i, text in enumerate(QUERIES))
    collection = Collection(name="shop", docs=docs, queries=queries, qrels=Qrels.of({}))
    rows = np.array([[4, 2, 0, 1], [0, 1, 2, 3], [3, -1, -1, -1]])
    return Run(
        collection.query_ids, collection.doc_ids, rows, -np.sort(-np.random.default_rng(0).random((3, 4)))
    ), collection


@pytest.mark.parametrize("reranker", RERANKERS)
def test_a_reranker_keeps_the_documents_of_every_query(reranker, tiny, searched):
    run, collection = searched
    reranked = made(reranker, tiny).rerank(run, collection)
    assert np.array_equal(np.sort(reranked.rows), np.sort(run.rows))
    assert reranked.returned.tolist() == run.returned.tolist()


@pytest.mark.parametrize("reranker", RERANKERS)
def test_a_reranker_gives_the_same_again_and_for_one_query_alone(reranker, tiny, searched):
    run, collection = searched
    reranked = made(reranker, tiny).rerank(run, collection)
    for query in range(3):
        alone = Run(
            run.queries[query : query + 1],
            run.docs,
            run.rows[query : query + 1],
            run.scores[query : query + 1],
        )
        assert (
            made(reranker, tiny).rerank(alone, collection).rows[0].tolist() == reranked.rows[query].tolist()
        )


@pytest.mark.parametrize("reranker", RERANKERS)
def test_what_lies_deeper_than_the_reranker_goes_stays_below(reranker, tiny, searched):
    run, collection = searched
    reranked = made(reranker, tiny, "rerank_depth=2").rerank(run, collection)
    assert reranked.rows[:, 2:].tolist() == run.rows[:, 2:].tolist()


@pytest.mark.parametrize("reranker", RERANKERS)
def test_an_unanswered_query_stays_unanswered(reranker, tiny, searched):
    run, collection = searched
    empty = Run(run.queries, run.docs, np.full((3, 4), -1), np.zeros((3, 4)))
    assert made(reranker, tiny).rerank(empty, collection).returned.tolist() == [0, 0, 0]


@pytest.mark.parametrize("reranker", RERANKERS)
def test_a_reranker_is_checked_cheaply_and_has_one_line_of_identity(reranker, tiny):
    part = made(reranker, tiny)
    for checked in (part, getattr(part, "scorer", None)):
        getattr(checked, "check", lambda _: None)(1000)
    assert identity(part) == identity(made(reranker, tiny))
    assert "\n" not in identity(part)
    assert str(tiny) not in identity(part)


@pytest.mark.parametrize("reranker", [name for name in RERANKERS if name != "none"])
def test_order_depends_on_the_texts_alone(reranker, tiny, searched):
    run, collection = searched
    turned = Run(run.queries, run.docs, run.rows, np.where(run.rows < 0, 0, -run.scores))
    there, back = (made(reranker, tiny).rerank(stage, collection) for stage in (run, turned))
    assert there.rows.tolist() == back.rows.tolist()
    assert np.allclose(there.scores, back.scores, atol=1e-5)


def pairs():
    return [query for query in QUERIES for _ in DOCS], DOCS * len(QUERIES)


def test_scores_do_not_depend_on_the_size_of_a_batch(tiny):
    one, many = (
        CrossEncoderScorer(model=str(tiny), batch_tokens=size).score(*pairs()).values for size in (1, 320)
    )
    assert np.abs(one - many).max() < 1e-5
    assert np.ptp(many) > 0.1


def test_scores_are_the_logits_of_the_model(tiny):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model, tokenizer = (
        AutoModelForSequenceClassification.from_pretrained(tiny),
        AutoTokenizer.from_pretrained(tiny),
    )
    queries, documents = pairs()
    with torch.inference_mode():
        expected = (
            model(**tokenizer(queries, documents, padding=True, return_tensors="pt")).logits[:, 0].numpy()
        )
    assert CrossEncoderScorer(model=str(tiny)).score(queries, documents).values == pytest.approx(
        expected, abs=1e-5
    )


def test_only_the_document_is_cut_and_what_was_cut_is_counted(tiny):
    query, document = "plazo de devolución", " ".join(["tienda"] * 900) + " treinta días"
    scores = CrossEncoderScorer(model=str(tiny), max_length=16).score([query, query], [document, "el plazo"])
    assert scores.cut.tolist() == [SPECIAL + 3 + 902 - 16, 0]
    read = " ".join(["tienda"] * (16 - SPECIAL - 3))
    assert scores.values[0] == pytest.approx(
        CrossEncoderScorer(model=str(tiny)).score([query], [read]).values[0], abs=1e-5
    )


def test_a_question_longer_than_its_document_is_read_to_its_end(tiny):
    long, short = "el " * 10 + "plazo", "envío de tienda"
    ends = [long, long.replace("plazo", "garantía")]
    scores = CrossEncoderScorer(model=str(tiny), max_length=SPECIAL + 11 + 1).score(ends, [short, short])
    assert scores.cut.tolist() == [2, 2]
    assert scores.values[0] != pytest.approx(scores.values[1], abs=1e-3)


def test_a_model_that_reads_less_than_asked_cuts_at_its_own_length(tiny):
    scores = CrossEncoderScorer(model=str(tiny), max_length=512).score(
        ["plazo"], [" ".join(["tienda"] * 100)]
    )
    assert scores.cut.tolist() == [SPECIAL + 1 + 100 - 64]


def test_a_question_that_leaves_no_room_is_refused_rather_than_cut(tiny):
    with pytest.raises(BenchError, match=r"a query of 23 tokens leaves no room .*max_length"):
        CrossEncoderScorer(model=str(tiny), max_length=16).score(["el " * 20], ["plazo"])


def test_a_sigmoid_keeps_the_order_of_logits_that_single_precision_would_not(tiny):
    plain, squashed = (
        CrossEncoderScorer(model=str(tiny), activation=name).score(*pairs()) for name in ("none", "sigmoid")
    )
    assert squashed.values == pytest.approx(1 / (1 + np.exp(-plain.values)))
    assert np.array_equal(np.argsort(squashed.values), np.argsort(plain.values))


def test_half_precision_is_near_and_makes_no_ties(tiny):
    documents = [" ".join(words) for words in itertools.permutations(WORDS[:8], 3)]
    full, half = (
        CrossEncoderScorer(model=str(tiny), dtype=dtype).score(["plazo"] * len(documents), documents).values
        for dtype in ("float32", "bfloat16")
    )
    assert np.corrcoef(full, half)[0, 1] > 0.99
    assert len(np.unique(half)) > 0.95 * len(documents)


def test_the_same_folder_elsewhere_is_the_same_model_and_other_settings_are_not(tiny, tmp_path):
    here = CrossEncoderScorer(model=str(tiny))
    elsewhere = shutil.copytree(tiny, tmp_path / "under another name")
    assert identity(CrossEncoderScorer(model=str(elsewhere), batch_tokens=1, device="cpu")) == identity(here)
    for setting in (
        {"max_length": 64},
        {"dtype": "bfloat16"},
        {"activation": "sigmoid"},
        {"backend": "onnx"},
        {"trust_remote_code": True},
    ):
        assert identity(CrossEncoderScorer(model=str(tiny), **setting)) != identity(here)
    (elsewhere / "model.safetensors").write_bytes(b"other weights")
    assert identity(CrossEncoderScorer(model=str(elsewhere))) != identity(here)


def test_a_folder_trained_anew_is_not_taken_for_the_model_before(tiny, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny, tmp_path / "trained")
    before = CrossEncoderScorer(model=str(folder)).score(["plazo"], ["plazo"]).values[0]
    weights = load_file(folder / "model.safetensors")
    save_file(
        weights | {"classifier.bias": weights["classifier.bias"] + 2},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    after = CrossEncoderScorer(model=str(folder)).score(["plazo"], ["plazo"]).values[0]
    assert after == pytest.approx(before + 2, abs=1e-5)


def test_a_model_of_several_scores_is_refused(tiny, tmp_path):
    from transformers import AutoModelForSequenceClassification

    folder = shutil.copytree(tiny, tmp_path / "three")
    several = AutoModelForSequenceClassification.from_pretrained(
        tiny, num_labels=3, ignore_mismatched_sizes=True
    )
    several.save_pretrained(folder)
    with pytest.raises(BenchError, match=r"cross_encoder.model=\S*three gives 3 scores a pair"):
        CrossEncoderScorer(model=str(folder)).score(["plazo"], ["plazo"])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A user's cache of its own, where written models go."""
    for library in ("onnx", "onnxruntime"):
        pytest.importorskip(library, reason="the extra onnx is not installed")
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def by_library(folder, queries, documents):
    """The logits of the library's own predict, the longest text cut where it cuts it."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    return model.predict(list(zip(queries, documents, strict=True)), batch_size=32)


@pytest.mark.parametrize("backend", ["torch", "onnx"])
@pytest.mark.parametrize("batch_tokens", [1, 40, 4096])
def test_scores_are_those_of_the_library_however_pairs_are_put_together(tiny, cache, backend, batch_tokens):
    documents = [*DOCS, "", "tienda", " ".join(["tienda"] * 50), "Palabras que nadie conoce"]
    queries = ["plazo de devolución", "garantía"] * len(documents)
    scores = CrossEncoderScorer(model=str(tiny), backend=backend, batch_tokens=batch_tokens).score(
        queries, documents * 2
    )
    assert np.abs(scores.values - by_library(tiny, queries, documents * 2)).max() < 1e-5
    assert np.ptp(scores.values) > 0.1
    assert not scores.cut.any()


def test_both_backends_cut_alike(tiny, cache):
    queries, documents = ["plazo"] * 2, [" ".join(["tienda"] * 900), "el plazo"]
    by_torch, by_onnx = (
        CrossEncoderScorer(model=str(tiny), backend=name, max_length=16).score(queries, documents)
        for name in ("torch", "onnx")
    )
    assert by_torch.values == pytest.approx(by_onnx.values, abs=1e-5)
    assert by_torch.cut.tolist() == by_onnx.cut.tolist() == [SPECIAL + 1 + 900 - 16, 0]


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_model_that_wants_its_padding_or_its_cut_on_one_side_gets_it_there(tiny, tmp_path, side):
    folder = shutil.copytree(tiny, tmp_path / "sided")
    told = json.loads((folder / "tokenizer_config.json").read_text())
    told |= {"padding_side": side, "truncation_side": side}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    long = "garantía " * 30 + "tienda " * 200
    documents = [long, "el plazo", "el envío gratis de un euros"]
    scores = CrossEncoderScorer(model=str(folder)).score(["plazo"] * 3, documents)
    assert np.abs(scores.values - by_library(folder, ["plazo"] * 3, documents)).max() < 1e-5


def test_a_model_with_a_prompt_of_its_own_is_prepared_by_the_library(tiny, tmp_path, cache):
    from sentence_transformers import CrossEncoder

    folder = tmp_path / "prompted"
    CrossEncoder(str(tiny), prompts={"own": "tienda "}, default_prompt_name="own").save_pretrained(
        str(folder)
    )
    queries, documents = pairs()
    prompted, plain = (
        CrossEncoderScorer(model=str(model)).score(queries, documents) for model in (folder, tiny)
    )
    assert np.abs(prompted.values - by_library(folder, queries, documents)).max() < 1e-5
    assert np.abs(prompted.values - plain.values).max() > 1e-3
    with pytest.raises(
        BenchError, match=r"cannot be written as ONNX, as more than .*cross_encoder.backend=torch"
    ):
        CrossEncoderScorer(model=str(folder), backend="onnx").score(queries, documents)


def test_once_written_a_cross_encoder_needs_no_torch(tiny, cache):
    def scored():
        script = (
            "import sys; from bench.rerankers.cross_encoder import CrossEncoderScorer as S; "
            f"v = S(model={str(tiny)!r}, backend='onnx').score(['plazo'], ['el plazo']).values; "
            "print({'torch', 'transformers', 'onnx'} & set(sys.modules), v[0])"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return done.stdout.split()

    before = CrossEncoderScorer(model=str(tiny), backend="onnx").score(["plazo"], ["el plazo"]).values[0]
    loaded, value = scored()
    assert loaded == "set()"
    assert float(value) == pytest.approx(before, abs=1e-6)
