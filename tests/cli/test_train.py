"""`train reranker` from the words to a reranker that a run uses, stopped and gone on with, and refused in time."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.cli.program import as_module, bench, finished, grid, in_its_own_process, on
from tests.encoder import write_encoder

from bench.collection import Collection
from bench.loading import BeirFolder
from bench.rerankers.cross_encoder import CrossEncoderScorer
from bench.training.checkpoint import State

COLORS = ("rojo", "azul", "verde", "negro", "blanco")
SHAPES = ("disco", "cubo", "cono", "aro")
NEEDS = [(color, shape) for color in COLORS for shape in SHAPES]
NOTHING = ()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection of twenty needs, two questions each, and a small encoder that knows its words."""
    folder = tmp_path_factory.mktemp("made")
    docs = {f"{color}-{shape}": f"el {shape} {color} cuesta un euro" for color, shape in NEEDS}
    asked = {
        f"q{i:02}{letter}": (f"{word} {color} {shape}", f"{color}-{shape}")
        for i, (color, shape) in enumerate(NEEDS)
        for letter, word in (("a", "precio"), ("b", "cuánto vale"))
    }
    write_collection(folder / "shop", docs, asked)
    write_encoder(folder / "encoder", [*docs.values(), *(text for text, _ in asked.values())])
    return folder


def write_collection(folder: Path, docs: dict[str, str], asked: dict[str, tuple[str, str]]) -> None:
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": doc, "text": text}) for doc, text in docs.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    lines = [
        json.dumps({"_id": query, "text": text, "metadata": {"need": need, "type": "direct"}})
        for query, (text, need) in asked.items()
    ]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    rows = [f"{query}\t{need}\t2" for query, (_, need) in asked.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))


def words(made: Path, *more: str) -> tuple[str, ...]:
    """The command on that collection."""
    return (
        "train",
        "reranker",
        *on(made / "shop"),
        f"train.base={made / 'encoder'}",
        "train.retrievers.faiss=null",
        "train.retrievers.use=null",
        "train.together=1",
        "train.longest=24",
        "train.rank=8",
        "train.negatives=3",
        "train.depth=10",
        "train.parts=4",
        "train.epochs=3",
        "train.tests=3",
        "train.learning_rate=0.01",
        *more,
    )


def train(made: Path, *more: str):
    return bench(*words(made, *more), on=NOTHING)


def collection(made: Path) -> Collection:
    return BeirFolder(path=str(made / "shop")).load()


def test_a_reranker_is_trained_told_of_and_used_in_a_run(made):
    answer = train(made, "-o", "own")
    assert answer.code == 0, answer.err
    assert answer.last_line == "reranker=cross_encoder cross_encoder.model=own"
    assert sorted(path.name for path in Path("own").iterdir()) == [
        "README.md",
        "adapter.json",
        "adapter.safetensors",
    ]
    facts = json.loads(Path("own/adapter.json").read_text())
    of = collection(made)
    assert {**of.digests, "name": of.name} == facts["collection"]
    # Of 20 needs with two questions each, 5 say when to stop and 5 are tested.
    assert facts["held_out"] == 10
    assert facts["questions"] == 3 * 20
    # An answer and up to three others: a document that answers a question held out is not shown.
    assert 3 * 20 * 2 < facts["pairs"] <= 3 * 20 * 4
    assert [step for step, _ in facts["tests"]] == [0, 5, 10, 15]
    card = Path("own/README.md").read_text()
    for told in (
        *of.digests.values(),
        "10 questions that it did not see",
        "train.base",
        "seed",
        f"60 | {facts['pairs']} | 10",
    ):
        assert told.removeprefix("train.") in card
    assert "minutes" in card
    for line in answer.out.splitlines()[:4]:
        assert line.strip() in card
    assert "training 15/15 loss" in answer.err

    run = bench("-m", "reranker=none,cross_encoder", "cross_encoder.model=own", "retriever=bm25", "k=1",
                on=on(made / "shop"))  # fmt: skip
    assert run.code == 0, run.err
    assert len(grid()) == 2
    assert facts["sha256"][:12] in Path("own/adapter.json").read_text()


def test_a_finished_folder_is_answered_at_once_and_one_of_other_settings_is_not_written_over(
    made, monkeypatch
):
    first = train(made, "-o", "own")
    before = Path("own/adapter.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        # Neither trained nor scored again: what it takes is not there.
        patch.setattr("bench.verbs.train.train", None)
        patch.setattr(CrossEncoderScorer, "score", None)
        again = train(made, "-o", "own")
    assert (again.code, again.out) == (0, first.out)
    other = train(made, "-o", "own", "seed=1")
    assert other.code == 2
    assert "own holds a reranker that was trained on other settings or data: name another folder" in other.err
    crossed = train(made, "-o", "own", "--cross-fit", "2")
    assert crossed.code == 2
    assert "-o own: it holds a reranker that is not cross-fitted; name another folder" in crossed.err
    assert Path("own/adapter.safetensors").read_bytes() == before


def test_interrupted_it_says_so_and_goes_on_to_the_same_weights(made, monkeypatch):
    assert train(made, "-o", "whole").code == 0
    save = State.save

    def saved_and_stopped(self, *given, **named):
        save(self, *given, **named)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(State, "save", saved_and_stopped)
        for _ in range(2):
            stopped = train(made, "-o", "own")
            assert stopped.code == 130
            assert "stopped; the same command goes on from here" in stopped.err
            assert not Path("own/adapter.json").exists()
    assert train(made, "-o", "own").code == 0
    assert Path("own/adapter.safetensors").read_bytes() == Path("whole/adapter.safetensors").read_bytes()
    one, other = (json.loads(Path(name, "adapter.json").read_text()) for name in ("own", "whole"))
    assert {**one, "seconds": 0} == {**other, "seconds": 0}
    assert not Path("own/.work").exists()


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_process_that_is_stopped_anywhere_comes_to_the_same_in_the_end(made, tmp_path, by):
    more = ("train.epochs=60", "train.tests=30", "train.patience=30")
    command = as_module(*words(made, *more, "-o", "own"), on=NOTHING)
    environment = {"BENCH_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    process = in_its_own_process(*command, folder=tmp_path, **environment)
    deadline = time.monotonic() + 120
    while not Path("own/.work/own.pt").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(by)
    assert finished(process).code == (130 if by == signal.SIGINT else -signal.SIGKILL)
    assert not Path("own/adapter.json").exists()
    assert finished(in_its_own_process(*command, folder=tmp_path, **environment)).code == 0
    assert train(made, *more, "-o", "whole").code == 0
    assert Path("own/adapter.safetensors").read_bytes() == Path("whole/adapter.safetensors").read_bytes()


def test_cross_fitted_each_question_is_scored_by_an_adapter_that_has_not_seen_it(made):
    answer = train(made, "--cross-fit", "2")
    assert answer.code == 0, answer.err
    folder = Path("outputs/rerankers/shop-cross-fit")
    assert answer.last_line.endswith(f"cross_encoder.model={folder}")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["README.md", "cross_fit.json", "fold-1", "fold-2"]
    assert "40 questions that it did not see" in answer.out
    assert "Cross-fitted: 2 adapters" in (folder / "README.md").read_text()
    assert "| fold-2 | 1 |" in (folder / "README.md").read_text()
    adapter_of = json.loads((folder / "cross_fit.json").read_text())["adapter_of"]
    assert len(adapter_of) == 40
    assert sorted(adapter_of.values()) == ["fold-1"] * 20 + ["fold-2"] * 20
    queries = [query.text for query in collection(made).queries]
    doc = collection(made).docs[0].contents
    fitted, one = (
        CrossEncoderScorer(model=str(name)).score(queries, [doc] * 40).values
        for name in (folder, folder / "fold-1")
    )
    assert np.isclose(fitted, one, atol=1e-4).sum() == 20
    run = bench("reranker=cross_encoder", f"cross_encoder.model={folder}", "retriever=bm25", "k=1",
                on=on(made / "shop"))  # fmt: skip
    assert run.code == 0, run.err
    single = train(made, "-o", str(folder))
    assert single.code == 2
    assert "it holds a cross-fitted reranker; name another folder" in single.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("train.base=nowhere",), "train.base=nowhere: .*train.base=e5_small comes in a package"),
        (("train.base=./nowhere",), "train.base=./nowhere: the folder does not exist"),
        (
            ("train.retrievers.bm25.search=['retriever=nothing']",),
            "retriever=nothing: there is no such option",
        ),
        (("train.retrievers.bm25=null",), "train.retrievers=.*: retrievers by a name"),
        (("train.retrievers.bm25.search=[bm25]",), r"train.retrievers.bm25.search=\['bm25'\]: overrides, as"),
        (("train.retrievers.bm25.weight=0",), r"train.retrievers.bm25.weight=0"),
        (("train.agreement=-1",), "train.agreement=-1"),
        (("train.parts=1",), "train.parts=1: a whole number from 3"),
        (("train.parts=21",), "shop: 20 needs have a relevant document, too few for 21 parts"),
        (("--cross-fit", "11"), "shop: 20 needs have a relevant document, too few for 22 parts"),
        (("--cross-fit", "1"), "--cross-fit 1: at least 2 parts"),
        (("train.within=company",), "train.within=company: no such metadata in the queries q00a"),
        (("train.rank=0",), "train.rank=0: a whole number from 1"),
        (("train.learning_rate=fast",), "train.learning_rate='fast'"),
        (("train.together=0",), "train.together=0: a whole number from 1"),
        (("train.epoch=2",), "train.epoch.*epochs"),
        (("collection.path=nothing",), "there is no folder nothing"),
        (("--crossfit", "5"), "'--crossfit' is no option of it.*--cross-fit"),
    ],
)
def test_a_wrong_setting_is_told_before_anything_is_written(made, more, message):
    answer = train(made, *more)
    assert answer.code == 2
    assert answer.out == ""
    assert re.search(message, answer.err), answer.err
    assert not Path("outputs").exists()
    assert not Path("cache").exists()


def test_what_is_no_reranker_is_not_trained():
    assert "what can be trained is a reranker" in bench("train", "rerankers", on=NOTHING).err
    assert "train reranker" in bench("train", on=NOTHING).err
    assert bench("train", "reranker", "--help", on=NOTHING).out.startswith(
        "usage: python -m bench train reranker"
    )
    assert "train reranker --help" in bench("--help", on=NOTHING).out


@pytest.mark.parametrize("grades", [0, None])
def test_without_anything_relevant_there_is_nothing_to_learn_from(made, tmp_path, grades):
    shop = Path(shutil.copytree(made / "shop", tmp_path / "shop"))
    rows = [] if grades is None else ["q00a\trojo-disco\t0"]
    (shop / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    answer = train(made, f"collection.path={shop}")
    assert answer.code == 2
    assert "judge" in answer.err
    assert not Path("outputs").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(made):
    Path("notes").mkdir()
    Path("notes/mine.txt").write_text("mine")
    answer = train(made, "-o", "notes")
    assert answer.code == 2
    assert "-o notes: there is something else in it (mine.txt); name another folder" in answer.err
    answer = train(made, "-o", "notes/mine.txt")
    assert answer.code == 2
    assert "it is a file; name a folder" in answer.err
    assert [path.name for path in Path("notes").iterdir()] == ["mine.txt"]


def test_a_question_that_cannot_be_read_whole_is_told_before_it_learns(made, tmp_path):
    shop = Path(shutil.copytree(made / "shop", tmp_path / "shop"))
    file = shop / "queries.jsonl"
    file.write_text(file.read_text().replace('"precio rojo disco"', '"' + "precio " * 30 + '"'))
    answer = train(made, f"collection.path={shop}", "-o", "own")
    assert answer.code == 2
    assert "a query of 33 tokens is longer than train.longest=24" in answer.err
    assert "training 1/" not in answer.err


def test_a_damaged_record_is_not_taken_for_a_finished_one(made):
    assert train(made, "-o", "own").code == 0
    Path("own/adapter.json").write_text("{")
    answer = train(made, "-o", "own")
    assert answer.code == 2
    assert "own holds a reranker that was trained on other settings or data" in answer.err
