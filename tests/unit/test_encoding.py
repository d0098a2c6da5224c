"""Ids as numbers give what Arrow gives for the texts."""

from __future__ import annotations

import random
import string

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.encoding import _mixed, _words, encoded, order, positions
from bench.ids import Ids

texts = st.lists(st.text(max_size=6) | st.text("ab\0é", max_size=20), max_size=30)
cuts = st.integers(0, 5)


def colliding():
    """Two texts of two words that have one number."""
    seeded = random.Random(1)
    while True:
        one, other = ("".join(seeded.choices(string.ascii_letters, k=16)) for _ in "ab")
        numbers = [int(_mixed(_words(pa.array([text])))[0]) for text in (one, other)]
        last = (int.from_bytes(other[8:].encode(), "little") + numbers[0] - numbers[1]) % 2**64
        tail = last.to_bytes(8, "little")
        if tail.isascii() and b"\0" not in tail:
            return one, other[:8] + tail.decode()


@given(texts, cuts)
def test_encoding_is_that_of_arrow_also_in_a_part_of_an_array(ids, cut):
    array = pa.array(ids, pa.string())[cut:]
    assert encoded(array).equals(array.dictionary_encode())
    assert encoded(pa.chunked_array([array, array])).equals(
        pa.concat_arrays([array, array]).dictionary_encode()
    )
    assert encoded(encoded(array)).equals(encoded(array))


@given(texts, texts, cuts)
def test_positions_are_those_of_arrow_also_of_what_is_encoded(ids, others, cut):
    asked, among = pa.array(ids, pa.string())[cut:], pa.array(sorted(set(others)), pa.string())[cut:]
    expected = pc.index_in(asked, value_set=among).fill_null(-1).to_pylist()
    assert positions(asked, among).tolist() == expected
    assert positions(asked.dictionary_encode(), among).tolist() == expected
    assert positions(among.dictionary_encode(), among).tolist() == list(range(len(among)))


def test_two_texts_that_share_a_number_stay_two():
    one, other = colliding()
    array = pa.array([one, other, one, other])
    assert len(np.unique(_mixed(_words(array)))) == 1
    assert encoded(array).equals(array.dictionary_encode())
    assert positions(array, pa.array([one])).tolist() == [0, -1, 0, -1]
    assert positions(array, pa.array([one, other])).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "ids", [["a", "a\0", "a\0\0"], ["x" * 40, "x" * 41], ["", "a", ""], ["12345678", "123456789"]]
)
def test_texts_that_words_do_not_tell_apart_are_told_apart(ids):
    array = pa.array(ids)
    assert encoded(array).to_pylist() == ids
    assert positions(array, pa.array(sorted(set(ids)))).tolist() == [
        sorted(set(ids)).index(one) for one in ids
    ]


@given(texts)
def test_order_is_that_of_bytes(ids):
    unique = list(dict.fromkeys(ids))
    assert [unique[at] for at in order(pa.array(unique, pa.string()))] == sorted(unique, key=str.encode)


def test_what_is_null_has_no_position():
    ids = pa.array(["a", None, "b"])
    assert positions(ids, pa.array(["b"])).tolist() == [-1, -1, 0]
    assert positions(ids.dictionary_encode(), pa.array(["b"])).tolist() == [-1, -1, 0]


@given(texts)
def test_a_vocabulary_is_the_same_from_an_array_as_from_texts(ids):
    made = Ids(pa.array(ids, pa.string()))
    assert made == Ids(ids)
    assert list(made) == sorted(set(ids), key=str.encode, reverse=True)
    assert made.array.to_pylist() == list(made)
    assert (len(made), hash(made)) == (len(set(ids)), hash(Ids(ids)))


def test_a_missing_id_is_no_member_of_a_vocabulary():
    with pytest.raises(TypeError):
        Ids(pa.array(["a", None]))
