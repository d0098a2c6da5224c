"""Pairs of texts as the tokens that a cross-encoder reads: each text made tokens once, batches bounded by tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from bench.errors import BenchError
from bench.rerankers.pairs import PairScores

Features = Mapping[str, npt.NDArray[np.int64]]
"""What a model reads of a batch, each int64 [pairs, tokens], by the names of transformers."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Held against the library's own way before a pair is read in ours: cut, empty, in capitals, with odd spaces.
_SAMPLES = [
    ("¿Plazo?", "El plazo de DEVOLUCIÓN  de unas zapatillas es de 30 días. " * 20),
    ("ok", ""),
    (" ok ", "\tNo.\n"),
    ("", "…"),
]
_SAMPLE_TOKENS = 40


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a model wants its tokens.

    inputs: names of what it reads
    padding, padding_type: the token and its type that fill up shorter pairs
    padding_side, truncation_side: right or left
    longest_input: the most tokens of a pair; None is any number
    """

    inputs: Sequence[str]
    padding: int
    padding_type: int
    padding_side: str
    truncation_side: str
    longest_input: int | None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs as tokens; `cut` counts those of each that are left out, int32 [n]."""

    encodings: Sequence[Encoding]
    cut: npt.NDArray[np.int32]
    layout: Layout

    def scored(
        self, compute: Callable[[Features], npt.NDArray[np.float32]], *, batch_tokens: int
    ) -> PairScores:
        """What `compute` says of each, [pairs of a batch] at a time."""
        values = np.empty(len(self.encodings))
        for rows, features in self.batches(batch_tokens):
            values[rows] = compute(features)
        return PairScores(values, self.cut)

    def batches(self, batch_tokens: int) -> Iterator[tuple[list[int], Features]]:
        """Rows of pairs of like length and what is read of them, the longest first.

        No batch holds more than `batch_tokens`, padding counted, unless a single pair does.
        """
        lengths = [len(encoding) for encoding in self.encodings]
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        start = 0
        while start < len(order):
            width = lengths[order[start]]
            rows = order[start : start + max(1, batch_tokens // max(1, width))]
            yield rows, self._features(rows, width)
            start += len(rows)

    def _features(self, rows: Sequence[int], width: int) -> Features:
        ids = np.full((len(rows), width), self.layout.padding, np.int64)
        types = np.full((len(rows), width), self.layout.padding_type, np.int64)
        mask = np.zeros((len(rows), width), np.int64)
        for place, row in enumerate(rows):
            encoding = self.encodings[row]
            filled = len(encoding)
            read = slice(width - filled, width) if self.layout.padding_side == "left" else slice(0, filled)
            ids[place, read], types[place, read], mask[place, read] = encoding.ids, encoding.type_ids, 1
        known = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        return {name: known[name] for name in self.layout.inputs}


class PairTokenizer:
    """A tokenizer that makes each text tokens once, however many pairs it is in."""

    def __init__(self, tokenizer: Tokenizer, layout: Layout) -> None:
        self.tokenizer, self.layout = tokenizer, layout

    def pairs(self, queries: Sequence[str], documents: Sequence[str], *, longest: int) -> Pairs:
        """The pairs, of `longest` tokens at most: documents are cut; BenchError where a query leaves no room."""
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        texts = list(dict.fromkeys([*queries, *documents]))
        encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        of = dict(zip(texts, encoded, strict=True))
        marks = self.tokenizer.num_special_tokens_to_add(is_pair=True)
        lengths = {text: len(encoding) for text, encoding in of.items()}
        cut = tokens_cut(queries, documents, length_of=lengths, marks=marks, longest=longest)
        # The second half of what the tokenizer itself does with a pair, so the tokens are its own.
        self.tokenizer.enable_truncation(
            longest, strategy="only_second", direction=self.layout.truncation_side
        )
        encodings = [
            self.tokenizer.post_process(of[query], of[document])
            for query, document in zip(queries, documents, strict=True)
        ]
        return Pairs(encodings, cut, self.layout)


def pair_tokenizer(model: Any) -> PairTokenizer | None:
    """The tokenizer of a CrossEncoder; None where more than a tokenizer makes its input.

    A prompt, a template of a chat or code of the model's own may stand between: so what is made of some
    samples is held against what the library makes of them, number by number.
    """
    tokenizer = model.tokenizer
    if not getattr(tokenizer, "is_fast", False) or model.default_prompt_name:
        return None
    longest = min(_SAMPLE_TOKENS, model.max_seq_length or _SAMPLE_TOKENS)
    fit = {"text": {"truncation": "only_second", "max_length": longest}}
    expected = dict(model.preprocess(_SAMPLES, processing_kwargs=fit))
    if expected.pop("modality", "text") != "text" or not set(expected) <= {*_INPUTS}:
        return None
    layout = Layout(
        inputs=tuple(expected),
        padding=tokenizer.pad_token_id or 0,
        padding_type=tokenizer.pad_token_type_id,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        longest_input=model.max_seq_length,
    )
    own = PairTokenizer(tokenizer.backend_tokenizer, layout)
    pairs = own.pairs(*zip(*_SAMPLES, strict=True), longest=longest)
    ((rows, features),) = pairs.batches(longest * len(_SAMPLES))
    equal = (np.array_equal(features[name], expected[name].numpy()[rows]) for name in expected)
    return own if all(equal) else None


def tokens_cut(
    queries: Sequence[str],
    documents: Sequence[str],
    *,
    length_of: Mapping[str, int],
    marks: int,
    longest: int,
) -> npt.NDArray[np.int32]:
    """Tokens of each pair beyond `longest`, int32 [n]; BenchError where a query alone reaches it.

    length_of: tokens of each text; marks: special tokens of a pair
    """
    of_query = np.array([length_of[query] + marks for query in queries])
    if of_query.max() >= longest:
        query = queries[int(of_query.argmax())]
        raise BenchError(
            f"a query of {of_query.max()} tokens leaves no room for a document in {longest}, and queries "
            f"are never cut: {query[:60]!r}… Raise cross_encoder.max_length or take a larger model"
        )
    beyond = of_query + np.array([length_of[document] for document in documents]) - longest
    cut: npt.NDArray[np.int32] = np.maximum(beyond, 0).astype(np.int32)
    return cut
