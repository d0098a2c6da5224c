"""What every reranker under conf/reranker/ holds, and what the cross-encoder promises of its texts.

The cross-encoder is a real one, of two layers and 32 dimensions, with weights drawn from a seed.
"""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate

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
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    folder = tmp_path_factory.mktemp("models") / "tiny"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=0.5,  # the usual 0.02 scores every pair alike
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


PRIMARY = f"""
hydra: {{searchpath: ['file://{CONF}']}}
defaults: [_self_, analyzer: plain, cross_encoder: default, reranker: none]
rerank_depth: 50
"""


def made(reranker, tiny, *overrides):
    (tiny.parent / "primary.yaml").write_text(PRIMARY)
    with initialize_config_dir(str(tiny.parent), version_base="1.3"):
        settings = [f"reranker={reranker}", f"cross_encoder.model={tiny}", *overrides]
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
        CrossEncoderScorer(model=str(tiny), batch_size=size).score(*pairs()).values for size in (1, 32)
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
    assert identity(CrossEncoderScorer(model=str(elsewhere), batch_size=1, device="cpu")) == identity(here)
    for setting in (
        {"max_length": 64},
        {"dtype": "bfloat16"},
        {"activation": "sigmoid"},
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
