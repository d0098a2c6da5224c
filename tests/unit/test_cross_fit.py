"""Several adapters in one folder: a question is scored by the one that has not seen it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from tests.encoder import write_encoder
from tests.unit.test_adapter import DOCS, QUERIES, learned, pairs

from bench.errors import BenchError, Unavailable
from bench.identity import identity
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.rerankers.cross_fit import FACTS, question

FOLD_OF = dict(zip(QUERIES, ["fold-1", "fold-2", "fold-1", "fold-2"], strict=True))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    encoder = write_encoder(tmp_path_factory.mktemp("models") / "encoder", [*QUERIES, *DOCS])
    folder = tmp_path_factory.mktemp("adapters") / "fitted"
    for seed in (1, 2):
        learned(encoder, folder / f"fold-{seed}", seed=seed, rank=8)
    known(folder, FOLD_OF)
    return folder


def known(folder, fold_of):
    facts = {"adapter_of": {question(query): name for query, name in fold_of.items()}}
    (folder / FACTS).write_text(json.dumps(facts))


def scores(folder):
    return CrossEncoderScorer(model=str(folder), device="cpu").score(*pairs()).values


def test_each_question_is_scored_by_its_own_adapter_alone(folder):
    found = scores(folder)
    each = {name: scores(folder / name) for name in ("fold-1", "fold-2")}
    expected = [each[FOLD_OF[query]][i] for i, query in enumerate(pairs()[0])]
    assert found == pytest.approx(expected, abs=1e-3)
    assert np.abs(each["fold-1"] - each["fold-2"]).max() > 0.1


def test_what_was_cut_and_which_question_is_too_long_is_told_as_of_one(folder):
    scorer = CrossEncoderScorer(model=str(folder), device="cpu")
    long = "tienda " * 30
    assert scorer.score(QUERIES, [long, "nunca", "nunca", long]).cut.tolist() == [9, 0, 0, 9]


def test_a_question_that_no_adapter_is_known_to_be_strange_to_is_refused(folder):
    scorer = CrossEncoderScorer(model=str(folder), device="cpu")
    with pytest.raises(
        BenchError, match=r"cross_encoder.model=\S*fitted: 1 questions are none of those.*'otra'.*--cross-fit"
    ):
        scorer.score([QUERIES[0], "otra", "otra"], ["nunca"] * 3)


def test_the_identity_is_of_all_adapters_and_of_which_question_is_whose(folder):
    here = identity(CrossEncoderScorer(model=str(folder)))
    assert str(folder) not in here
    try:
        known(folder, {**FOLD_OF, QUERIES[0]: "fold-2"})
        assert identity(CrossEncoderScorer(model=str(folder))) != here
    finally:
        known(folder, FOLD_OF)
    assert identity(CrossEncoderScorer(model=str(folder))) == here


def test_an_adapter_that_is_missing_is_unavailable(folder, tmp_path):
    known(tmp_path, FOLD_OF)
    with pytest.raises(Unavailable, match=r"fold-1: adapter.json cannot be read .*train it anew"):
        CrossEncoderScorer(model=str(tmp_path)).check(10)


@pytest.mark.parametrize("text", ["{", "{}", '{"adapter_of": [1]}', '{"adapter_of": {}}'])
def test_a_damaged_list_of_questions_is_unavailable(tmp_path, text):
    (tmp_path / FACTS).write_text(text)
    with pytest.raises(Unavailable, match=r"cross_fit.json cannot be read .*train reranker --cross-fit"):
        CrossEncoderScorer(model=str(tmp_path)).check(10)
