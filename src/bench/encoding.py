"""Ids as numbers: telling short texts apart by whole words of memory, which is faster than by hashing every byte.

What comes out is what Arrow's `dictionary_encode` and `index_in` give. Where an id is longer than `LONGEST` bytes, or
two texts happen to share a number, it is Arrow that gives it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

LONGEST = 16
"""Bytes; with more words a number is no longer quicker than a hash."""
Words = npt.NDArray[np.uint64]


def encoded(ids: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Strings over a dictionary of unique ones in the order in which they come first; what is encoded stays so."""
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if pa.types.is_dictionary(whole.type):
        return whole
    words = _words(whole)
    if words is None:
        return whole.dictionary_encode()
    numbers = pa.array(_mixed(words)).dictionary_encode()
    code = np.asarray(numbers.indices)
    somewhere = np.empty(len(numbers.dictionary), np.int64)
    somewhere[code] = np.arange(len(code))
    if len(words) > 1 and not _alike(words, words, somewhere[code]):
        return whole.dictionary_encode()
    return pa.DictionaryArray.from_arrays(numbers.indices, whole.take(pa.array(somewhere)))


def positions(ids: pa.Array | pa.ChunkedArray, among: pa.Array) -> npt.NDArray[np.int32]:
    """Where each id stands among others, -1 where it does not; of encoded ids only the dictionary is looked up."""
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if isinstance(whole, pa.DictionaryArray):
        codes = np.asarray(whole.indices.fill_null(-1))
        if whole.dictionary.equals(among):
            return np.asarray(codes, np.int32)
        # One more place, the last, for what is null.
        known = np.append(positions(whole.dictionary, among), np.int32(-1))
        return np.asarray(known[codes], np.int32)
    asked, others = _words(whole), _words(among)
    if asked is not None and others is not None:
        every = max(len(asked), len(others))
        asked, others = (
            [*words, *[np.zeros_like(words[0])] * (every - len(words))] for words in (asked, others)
        )
        found = _index_in(pa.array(_mixed(asked)), pa.array(_mixed(others)))
        there = found >= 0
        if every == 1 or _alike([word[there] for word in asked], others, found[there]):
            return found
    return _index_in(whole, among)


def order(ids: pa.Array) -> npt.NDArray[np.int64]:
    """The places of unique ids in ascending order, compared as UTF-8 bytes, which is that of code points."""
    words = _words(ids)
    if words is None or len(words) > 1:
        return np.asarray(pc.sort_indices(ids), np.int64)
    # The first byte as the highest: then numbers are in the order of their texts.
    return np.asarray(np.argsort(words[0].byteswap()), np.int64)


def _index_in(values: pa.Array, among: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(pc.index_in(values, value_set=among).fill_null(-1), np.int32)


def _words(ids: pa.Array) -> list[Words] | None:
    """The bytes of each text as numbers, the last filled up with zeros; None where these do not tell texts apart."""
    if ids.type != pa.string() or ids.null_count or not len(ids):
        return None
    _, bounds, data = ids.buffers()
    offset = np.frombuffer(bounds, np.int32, len(ids) + 1, 4 * ids.offset)
    length = np.diff(offset)
    longest = int(length.max())
    text = b"" if data is None else memoryview(data)[offset[0] : offset[-1]]
    raw = np.frombuffer(text, np.uint8) if len(text) else np.zeros(0, np.uint8)
    # A zero byte inside a text would be taken for the filling behind it.
    if longest > LONGEST or (len(raw) and not raw.all()):
        return None
    count = max(1, -(-longest // 8))
    padded = np.concatenate([raw, np.zeros(8 * count, np.uint8)])
    word_at = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
    start, kept = offset[:-1] - offset[0], np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
    return [word_at[start + 8 * i] & kept[np.clip(length - 8 * i, 0, 8)] for i in range(count)]


def _mixed(words: Sequence[Words]) -> Words:
    """One number for the words of each text."""
    mixed = words[0]
    for word in words[1:]:
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + word
    return mixed


def _alike(words: Sequence[Words], others: Sequence[Words], at: npt.NDArray[np.integer]) -> bool:
    """Whether each text is the one at its place among the others."""
    return all(bool((word == other[at]).all()) for word, other in zip(words, others, strict=True))
