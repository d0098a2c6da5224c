"""Every named sweep of conf/experiment runs, here on twelve documents and with the smallest of models."""

from __future__ import annotations

import json

import pytest
from tests.cli.program import bench, grid
from tests.conftest import TINY
from tests.encoder import write_cross_encoder

from bench.config import compose_config, conf_folder

EXPERIMENTS = sorted(path.stem for path in (conf_folder() / "experiment").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """One that knows the words of the tiny collection."""
    texts = [json.loads(line)["text"] for line in (TINY / "corpus.jsonl").read_text().splitlines()]
    return write_cross_encoder(tmp_path_factory.mktemp("models") / "tiny", texts, longest=256)


def shortened(experiment):
    """Overrides that leave two values of every setting that is swept; options are all tried."""
    params = compose_config([f"+experiment={experiment}"]).hydra.sweeper.params
    values = {key: str(choices).split(",") for key, choices in params.items() if "." in key}
    return [f"{key}={each[0]},{each[-1]}" for key, each in values.items() if len(each) > 2]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_it_runs_and_no_cell_fails(experiment, cross_encoder):
    words = (f"+experiment={experiment}", "k=[1,5]", f"cross_encoder.model={cross_encoder}")
    answer = bench(*words, *shortened(experiment))

    assert answer.code == 0, answer.err
    assert answer.last_line == f"outputs/{experiment}/grid.parquet"
    cells = grid(experiment)
    # An index that wants more than twelve documents is skipped.
    assert set(cells["status"]) <= {"ok", "skipped"}
    assert set(cells.loc[cells["status"] == "ok", "k"]) == {1, 5}


def test_the_command_line_wins_over_the_experiment():
    words = (
        "+experiment=k_vs_reranker",
        "retriever=bm25",
        "reranker=overlap",
        "name=mine",
        "depth=30",
        "rerank_depth=50",
    )

    answer = bench(
        *words, on=("collection=beir", f"collection.path={TINY}", "embedder=hashing", "timing=off")
    )

    assert answer.code == 0, answer.err
    cells = grid("mine")
    assert set(cells["system"]) == {"bm25+overlap(depth=30)"}
    assert list(cells["k"]) == [1, 3, 5, 10, 20]
