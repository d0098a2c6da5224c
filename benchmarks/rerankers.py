"""Speed of a cross-encoder beside the library's own predict, in one process and in turn: `make benchmark`."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from clock import seconds

from bench.backends import computes_in_bfloat16
from bench.config import data_folder
from bench.loading import BeirFolder
from bench.packaged.e5_small import e5_small_folder
from bench.rerankers.adapter import Adapter
from bench.rerankers.cross_encoder import CrossEncoderScorer

AURORA = Path(__file__).parents[1] / "data" / "aurora"
QUERIES, CHUNKS, ROUNDS = 10, 20, 3
Scores = npt.NDArray[np.float64]


def rerankers(folder: Path) -> None:
    """The same pairs of Aurora through the library and through each way of ours."""
    queries, documents = pairs()
    predict = by_library(folder)
    ways = {
        "torch float32": CrossEncoderScorer(model=str(folder), device="cpu"),
        "onnx float32": CrossEncoderScorer(model=str(folder), backend="onnx"),
        "torch bfloat16": CrossEncoderScorer(model=str(folder), device="cpu", dtype="bfloat16"),
    }
    timed = {name: way for name, way in ways.items() if computes_in_bfloat16() or way.dtype == "float32"}
    expected = predict(queries, documents)
    # Loads and writes the models, and is not timed. Without instructions for it bfloat16 is slow: one query will do.
    scores = {
        name: way.score(
            *((queries, documents) if name in timed else (queries[:CHUNKS], documents[:CHUNKS]))
        ).values
        for name, way in ways.items()
    }
    theirs, *ours = seconds(
        lambda: predict(queries, documents),
        *(lambda way=way: way.score(queries, documents) for way in timed.values()),  # type: ignore[misc]
        rounds=ROUNDS,
    )
    taken = dict(zip(timed, ours, strict=True))
    instructions = "has" if computes_in_bfloat16() else "has no"
    print(
        f"rerankers: {len(queries)} pairs, multilingual-e5-small as a cross-encoder with a head from a seed"
    )
    print(f"  this processor {instructions} instructions for bfloat16; scores spread by {expected.std():.2f}")
    print(f"  predict         {len(queries) / theirs:7.1f} pairs a second")
    for name, values in scores.items():
        told = beside(values, expected[: len(values)])
        if name in taken:
            told = (
                f"{len(queries) / taken[name]:7.1f} pairs a second  ratio {theirs / taken[name]:5.2f}  {told}"
            )
        print(f"  {name:14}  {told}")


def trained() -> None:
    """The reranker that comes along, by its own CrossEncoder's predict and by ours."""
    folder = Path(data_folder("reranker"))
    queries, documents = pairs()
    own = CrossEncoderScorer(model=str(folder), device="cpu")
    model = Adapter(folder=folder, setting="model").cross_encoder(device="cpu")

    def predict() -> Scores:
        values: Scores = model.predict(list(zip(queries, documents, strict=True)), batch_size=32).astype(
            np.float64
        )
        return values

    expected, found = predict(), own.score(queries, documents).values
    theirs, ours = seconds(predict, lambda: own.score(queries, documents), rounds=ROUNDS)
    print(f"the reranker that comes along: {len(queries)} pairs")
    print(f"  predict         {len(queries) / theirs:7.1f} pairs a second")
    print(
        f"  ours            {len(queries) / ours:7.1f} pairs a second  ratio {theirs / ours:5.2f}  "
        f"{beside(found, expected)}"
    )


def pairs() -> tuple[list[str], list[str]]:
    """Questions of Aurora, each with some of its chunks, the same every time."""
    aurora, random = BeirFolder(path=str(AURORA)).load(), np.random.default_rng(0)
    asked = random.choice(len(aurora.queries), QUERIES, replace=False).tolist()
    chunks = [random.choice(len(aurora.docs), CHUNKS, replace=False).tolist() for _ in asked]
    return (
        [aurora.queries[query].text for query in asked for _ in range(CHUNKS)],
        [aurora.docs[row].contents for rows in chunks for row in rows],
    )


def by_library(folder: Path) -> Callable[[list[str], list[str]], Scores]:
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    return lambda queries, documents: model.predict(
        list(zip(queries, documents, strict=True)), batch_size=32, show_progress_bar=False
    ).astype(np.float64)


def write_model(folder: Path) -> None:
    """The packaged encoder with a head that has learned nothing: only its speed and its numbers are looked at."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(e5_small_folder()), num_labels=1, device="cpu", local_files_only=True)
    torch.manual_seed(0)
    bert = model[0].model
    torch.nn.init.normal_(bert.bert.pooler.dense.weight, std=0.15)
    torch.nn.init.normal_(bert.classifier.weight, std=0.5)
    model.save_pretrained(str(folder))


def beside(values: Scores, expected: Scores) -> str:
    """How far scores lie from the library's, and how many questions have the same ranking."""
    orders = [np.argsort(-each.reshape(-1, CHUNKS), axis=1, kind="stable") for each in (values, expected)]
    same = int((orders[0] == orders[1]).all(axis=1).sum())
    distance = np.abs(values - expected).max()
    return f"scores within {distance:.1e}  {same} of {len(orders[0])} rankings equal"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch:
        write_model(Path(scratch) / "model")
        os.environ["BENCH_CACHE"] = scratch
        rerankers(Path(scratch) / "model")
        trained()
