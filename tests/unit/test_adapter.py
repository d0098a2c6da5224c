"""What training has made of an encoder, as a folder: it starts from the encoder's own similarity and loses nothing."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from tests.encoder import LAYERS, LONGEST, write_encoder

from bench.errors import BenchError, Unavailable
from bench.identity import identity
from bench.rerankers import delayed_pairs
from bench.rerankers.adapter import FACTS, WEIGHTS, Adapter, apply, difference, write
from bench.rerankers.base import Base
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.rerankers.delayed_pairs import DelayedPairs

QUERIES = ["plazo de devolución", "garantía", "cuesta el envío", "¿de la tienda?"]
DOCS = ["el plazo de devolución treinta días", "la garantía dura", "envío gratis de un euro tienda", "nunca"]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("models") / "encoder", [*QUERIES, *DOCS])


def base(encoder, **settings):
    return Base(name=str(encoder), **{"together": 2, **settings})


def disturbed(model, *, seed=3, by=0.05):
    """The same model as if it had learned: all that learns is moved a little."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(by * torch.randn(parameter.shape, generator=random))
    return model


def learned(encoder, folder, *, rank=None, seed=3, **settings):
    """The folder of an adapter, and the model that it was made from."""
    of = base(encoder, **settings)
    model = disturbed(of.cross_encoder(device="cpu"), seed=seed)
    write(folder, difference(model, of.cross_encoder(device="cpu"), rank=rank), base=of, facts={"seed": seed})
    return model


@pytest.fixture(scope="module")
def adapter(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapters") / "adapter"
    learned(encoder, folder)
    return folder


def pairs():
    return [query for query in QUERIES for _ in DOCS], DOCS * len(QUERIES)


def scored(model, queries=None, documents=None, *, batch_tokens=4096):
    asked, told = pairs() if queries is None else (queries, documents)
    return DelayedPairs(model, "float32").score(asked, told, longest=512, batch_tokens=batch_tokens)


@pytest.mark.parametrize("together", [1, LAYERS])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_an_untrained_one_scores_by_the_encoders_own_cosine(encoder, tmp_path, together, pooling):
    from sentence_transformers import SentenceTransformer

    folder = encoder
    if pooling == "cls":
        folder = write_encoder(tmp_path / "cls", [*QUERIES, *DOCS], pooling="cls")
    plain = SentenceTransformer(str(folder), device="cpu")
    asked, told = plain.encode_query(QUERIES), plain.encode_document(DOCS)
    found = scored(base(folder, together=together).cross_encoder(device="cpu"))
    assert found.values == pytest.approx(40 * ((asked @ told.T).ravel() - 0.85), abs=1e-3)
    assert np.ptp(found.values) > 1


def test_kept_whole_it_comes_back_to_half_precision(encoder, tmp_path):
    before = learned(encoder, tmp_path / "whole")
    after = Adapter(folder=tmp_path / "whole", setting="it").cross_encoder(device="cpu")
    for (name, was), (_, now) in zip(before.named_parameters(), after.named_parameters(), strict=True):
        expected = was.half().float() if was.requires_grad else was
        assert torch.equal(expected, now), name
    assert scored(after).values == pytest.approx(scored(before).values, abs=0.1)
    untrained = scored(base(encoder).cross_encoder(device="cpu")).values
    assert np.abs(scored(after).values - untrained).max() > 1


def test_the_error_of_a_low_rank_falls_with_the_rank_and_the_folder_is_smaller(encoder):
    of = base(encoder)
    model, untrained = disturbed(of.cross_encoder(device="cpu")), of.cross_encoder(device="cpu")
    errors, sizes = [], []
    for rank in (1, 4, 10, None):
        kept = difference(model, untrained, rank=rank)
        again = of.cross_encoder(device="cpu")
        apply(kept, again)
        errors.append(
            sum(
                (a - b).square().sum().item()
                for a, b in zip(model.parameters(), again.parameters(), strict=True)
            )
        )
        sizes.append(sum(values.size for values in kept.values()))
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[1] > errors[2] > 1e-3
    assert errors[-1] == pytest.approx(0, abs=1e-6)
    assert sizes == sorted(sizes)


def test_of_a_rank_the_best_approximation_is_kept(encoder):
    of = base(encoder)
    model, untrained = disturbed(of.cross_encoder(device="cpu")), of.cross_encoder(device="cpu")
    kept = difference(model, untrained, rank=4)
    name = next(name.removesuffix(".left") for name in kept if name.endswith(".left"))
    change = (
        (dict(model.named_parameters())[name] - dict(untrained.named_parameters())[name]).detach().numpy()
    )
    rest = change - kept[f"{name}.left"] @ kept[f"{name}.right"]
    assert np.linalg.norm(rest) == pytest.approx(
        np.linalg.norm(np.linalg.svd(change, compute_uv=False)[4:]), rel=1e-4
    )


def test_a_number_written_as_a_row_of_one_is_read(encoder):
    model = base(encoder).cross_encoder(device="cpu")
    (name,) = [name for name, parameter in model.named_parameters() if parameter.ndim == 0]
    apply({name: np.array([0.5], np.float16)}, model)
    assert dict(model.named_parameters())[name].item() == 0.5


def test_what_did_not_learn_is_not_kept(encoder):
    of = base(encoder, together=1)
    names = difference(of.cross_encoder(device="cpu"), of.cross_encoder(device="cpu"), rank=None)
    assert names
    assert all(".together.0." in name or ".head." in name or name.endswith("scale") for name in names)


def test_the_librarys_own_predict_gives_the_same_scores(adapter):
    model = Adapter(folder=adapter, setting="it").cross_encoder(device="cpu")
    predicted = model.predict(list(zip(*pairs(), strict=True)), show_progress_bar=False)
    assert CrossEncoderScorer(model=str(adapter), device="cpu").score(*pairs()).values == pytest.approx(
        predicted, abs=1e-3
    )


def test_scores_depend_neither_on_the_batch_nor_on_the_other_pairs(adapter):
    model = Adapter(folder=adapter, setting="it").cross_encoder(device="cpu")
    together = scored(model).values
    assert scored(model, batch_tokens=1).values == pytest.approx(together, abs=1e-3)
    queries, documents = pairs()
    turned = np.random.default_rng(5).permutation(len(queries))
    found = scored(model, [queries[i] for i in turned], [documents[i] for i in turned])
    assert found.values == pytest.approx(together[turned], abs=1e-3)
    for place in (0, 7, 15):
        alone = scored(model, queries[place : place + 1], documents[place : place + 1])
        assert alone.values[0] == pytest.approx(together[place], abs=1e-3)


def test_kept_documents_change_nothing(adapter, monkeypatch):
    monkeypatch.setattr(delayed_pairs, "KEPT_TOKENS", 12)
    monkeypatch.setattr(delayed_pairs, "AT_ONCE", 3)
    model = Adapter(folder=adapter, setting="it").cross_encoder(device="cpu")
    expected = scored(model).values
    kept = DelayedPairs(model, "float32")
    for _ in range(3):
        found = kept.score(*pairs(), longest=512, batch_tokens=64)
        assert found.values == pytest.approx(expected, abs=1e-3)
        assert kept._tokens == sum(len(reading) for reading in kept._documents.values()) <= 12


def test_a_document_is_cut_and_what_was_cut_is_counted(adapter):
    long = " ".join(["tienda"] * 30)
    scorer = CrossEncoderScorer(model=str(adapter), device="cpu")
    found = scorer.score(["plazo"] * 2, [long, "tienda"])
    # [CLS] read … [SEP]
    assert found.cut.tolist() == [33 - LONGEST, 0]
    fits = scorer.score(["plazo"], [" ".join(["tienda"] * (LONGEST - 3))])
    assert fits.cut.tolist() == [0]
    assert found.values[0] == pytest.approx(fits.values[0], abs=1e-3)


def test_a_query_that_cannot_be_read_whole_is_refused_rather_than_cut(adapter):
    scorer = CrossEncoderScorer(model=str(adapter), device="cpu", max_length=400)
    with pytest.raises(BenchError, match=rf"a query of 33 tokens is longer than the {LONGEST} that.*'plazo"):
        scorer.score(["plazo " * 30], ["tienda"])


def test_the_identity_is_of_contents_and_never_of_a_path(adapter, encoder, tmp_path):
    elsewhere = shutil.copytree(adapter, tmp_path / "elsewhere")
    here, there = (identity(CrossEncoderScorer(model=str(folder))) for folder in (adapter, elsewhere))
    assert here == there
    assert str(adapter.parent) not in here
    assert str(encoder.parent) not in here
    assert base(encoder).identity() in here
    learned(encoder, tmp_path / "other", seed=4)
    assert identity(CrossEncoderScorer(model=str(tmp_path / "other"))) != here


def test_a_folder_trained_anew_is_not_taken_for_the_one_before(encoder, tmp_path):
    found = []
    for seed in (3, 4):
        learned(encoder, tmp_path / "one", seed=seed)
        found.append(CrossEncoderScorer(model=str(tmp_path / "one"), device="cpu").score(*pairs()).values)
    assert np.abs(found[0] - found[1]).max() > 0.1


def changed(folder, encoder):
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (folder / WEIGHTS).write_bytes(data)


def facts_with(**changes):
    def change(folder, encoder):
        facts = json.loads((folder / FACTS).read_text())
        (folder / FACTS).write_text(json.dumps(facts | changes))

    return change


def another_base(folder, encoder):
    other = write_encoder(folder.with_name("other"), [*QUERIES, *DOCS], seed=12)
    facts = json.loads((folder / FACTS).read_text())
    (folder / FACTS).write_text(json.dumps(facts | {"base": facts["base"] | {"name": str(other)}}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed, "adapter.safetensors is not the file that was trained"),
        (lambda folder, _: (folder / WEIGHTS).unlink(), r"adapter.safetensors is not .*sha256 missing"),
        (lambda folder, _: (folder / FACTS).write_text("{"), "adapter.json cannot be read"),
        (lambda folder, _: (folder / FACTS).write_text("{}"), "adapter.json cannot be read"),
        (facts_with(base={"name": "x", "tail": 1}), "adapter.json names no base"),
        (facts_with(base={"name": "./no/such"}), "its base cannot be had .*the folder does not exist"),
        (another_base, "it was trained on .*together=2, longest=256, and .*other here is"),
    ],
)
def test_a_damaged_folder_or_another_base_is_unavailable_with_what_to_do(
    adapter, encoder, tmp_path, damage, message
):
    folder = shutil.copytree(adapter, tmp_path / "copy")
    damage(folder, encoder)
    scorer = CrossEncoderScorer(model=str(folder))
    for ask in (lambda: scorer.check(10), lambda: scorer.score(["plazo"], ["tienda"])):
        with pytest.raises(Unavailable, match=rf"cross_encoder.model=\S*copy: {message}"):
            ask()
        with pytest.raises(Unavailable, match="train it anew: python -m bench train reranker"):
            ask()


def test_weights_that_do_not_fit_their_base_are_unavailable(adapter, encoder, tmp_path):
    of = base(encoder)
    write(tmp_path / "odd", {"0.head.weight": np.zeros((2, 7))}, base=of, facts={})
    with pytest.raises(Unavailable, match=r"adapter.safetensors does not fit its base"):
        CrossEncoderScorer(model=str(tmp_path / "odd")).score(["plazo"], ["tienda"])


def test_only_torch_runs_it(adapter):
    with pytest.raises(BenchError, match=r"cross_encoder.backend=onnx .*cross_encoder.backend=torch"):
        CrossEncoderScorer(model=str(adapter), backend="onnx").check(10)


@pytest.mark.parametrize("pooling", ["max", "lasttoken"])
def test_a_base_that_pools_otherwise_is_refused(tmp_path, pooling):
    folder = write_encoder(tmp_path / pooling, DOCS, pooling=pooling)
    with pytest.raises(
        BenchError, match=rf"train.base=\S*{pooling} makes its vectors by Pooling \({pooling}\)"
    ):
        base(folder).cross_encoder(device="cpu")


def test_a_base_without_layers_and_more_layers_than_there_are_are_refused(encoder, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    with pytest.raises(BenchError, match=rf"train.together=4: \S*encoder has {LAYERS} layers"):
        base(encoder, together=4).cross_encoder(device="cpu")
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "plazo": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    static = StaticEmbedding(tokenizer, embedding_weights=np.eye(2, dtype=np.float32))
    SentenceTransformer(modules=[static], device="cpu").save(str(tmp_path / "static"))
    with pytest.raises(BenchError, match=r"train.base=\S*static is no encoder in the form of BERT"):
        base(tmp_path / "static").cross_encoder(device="cpu")
