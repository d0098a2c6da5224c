"""Batches bounded by tokens, and in which numbers a machine computes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from bench import backends
from bench.errors import BenchError
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.rerankers.pair_tokens import Layout, PairTokenizer


def tokenizer(side="right"):
    words = Tokenizer(
        models.WordLevel({"[PAD]": 0, "[UNK]": 1, "[SEP]": 2, "a": 3, "b": 4}, unk_token="[UNK]")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    layout = Layout(
        inputs=("input_ids", "attention_mask", "token_type_ids"),
        padding=0,
        padding_type=0,
        padding_side=side,
        truncation_side="right",
        longest_input=None,
    )
    return PairTokenizer(words, layout)


@given(
    lengths=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 30)), min_size=1, max_size=20),
    batch_tokens=st.integers(1, 100),
    side=st.sampled_from(["left", "right"]),
)
def test_every_pair_is_in_one_batch_as_the_tokenizer_makes_it_and_no_batch_is_too_large(
    lengths, batch_tokens, side
):
    queries, documents = (["a " * n for n, _ in lengths], ["b " * n for _, n in lengths])
    own = tokenizer(side)
    seen = {}
    for rows, features in own.pairs(queries, documents, longest=20).batches(batch_tokens):
        ids, mask, types = (features[name] for name in own.layout.inputs)
        assert ids.size <= batch_tokens or len(rows) == 1
        seen |= {
            row: (ids[i][mask[i] == 1].tolist(), types[i][mask[i] == 1].tolist())
            for i, row in enumerate(rows)
        }
        assert not ids[mask == 0].any()
        assert all(
            np.diff(line).max(initial=-1 if side == "right" else 0) <= (side == "left") for line in mask
        )
    whole = own.tokenizer.encode_batch(list(zip(queries, documents, strict=True)))
    assert [seen[row] for row in range(len(lengths))] == [(each.ids, each.type_ids) for each in whole]


def test_what_a_document_loses_is_counted_and_a_query_loses_nothing():
    pairs = tokenizer().pairs(["a a", "a"], ["b " * 30, "b"], longest=10)
    assert pairs.cut.tolist() == [2 + 30 + 2 - 10, 0]
    assert pairs.encodings[0].ids == [3, 3, 2, *[4] * 6, 2]
    with pytest.raises(BenchError, match="a query of 10 tokens leaves no room for a document in 10"):
        tokenizer().pairs(["a " * 8], ["b"], longest=10)


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("flags : fpu avx2 avx512f", "float32"),
        ("flags : avx512_bf16", "bfloat16"),
        ("Features : asimd bf16", "bfloat16"),
    ],
)
def test_auto_is_bfloat16_where_the_processor_has_it_and_stands_so_in_the_identity(
    flags, dtype, tmp_path, monkeypatch
):
    (tmp_path / "cpuinfo").write_text(flags)
    monkeypatch.setattr(backends, "_PROCESSOR", tmp_path / "cpuinfo")
    backends.computes_in_bfloat16.cache_clear()
    try:
        auto, told = (
            CrossEncoderScorer(model="some/model", device="cpu", dtype=name, revision="1").identity()
            for name in ("auto", dtype)
        )
        assert auto == told
        assert f"dtype='{dtype}'" in auto
        onnx = CrossEncoderScorer(model="some/model", dtype="auto", revision="1", backend="onnx")
        assert "dtype='float32'" in onnx.identity()
    finally:
        backends.computes_in_bfloat16.cache_clear()


def test_a_machine_that_does_not_say_computes_in_float32(tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "_PROCESSOR", tmp_path / "none")
    backends.computes_in_bfloat16.cache_clear()
    try:
        assert backends.dtype_here("auto", device="cpu", backend="torch") == "float32"
        assert backends.dtype_here("float16", device="cpu", backend="torch") == "float16"
    finally:
        backends.computes_in_bfloat16.cache_clear()
