"""The bounds in the tables of a folder: over what all its systems found, from the runs that they have stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.conftest import TINY

from bench import judging
from bench.artifacts import JobFolder
from bench.cli import main
from bench.grid import GRID
from bench.loading import BeirFolder
from bench.merge import merge
from bench.metrics import MEASURES
from bench.ties import ties
from bench.unjudged.bounds import bounds
from bench.unjudged.world import World

FOLDER = Path("outputs/j")
COMMAND = (
    "-m", "collection=beir", f"collection.path={TINY}", "embedder=hashing", "timing=off", "name=j", "k=[1,5]",
)  # fmt: skip


def run(*words: str) -> pd.DataFrame:
    assert main([*COMMAND, *words]) == 0
    return pd.read_parquet(FOLDER / "grid.parquet")


def jobs() -> list[JobFolder]:
    return [JobFolder(path.parent) for path in sorted(FOLDER.glob("*/manifest.json"))]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep of three systems, its folder the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("judging")
        patch.chdir(folder)
        patch.setenv("BENCH_CACHE", str(folder / "cache"))
        grid = run("retriever=bm25,faiss", "reranker=none,overlap")
        yield grid, pd.read_parquet(FOLDER / "per_query.parquet")


def test_the_bounds_of_a_cell_are_those_in_the_pool_of_all_systems(swept):
    grid, _ = swept
    tiny = BeirFolder(path=str(TINY)).load()
    stored = {job.manifest["system"]: job.run(tiny) for job in jobs()}
    world = World.of_pool(list(stored.values()), tiny.qrels)
    assert len(grid) == 8
    for cell in grid.to_dict("records"):
        standing = world.standing(stored[cell["system"]])
        for name in judging.BOUNDED:
            expected = bounds(MEASURES[name], standing, cell["k"]).mean
            assert (cell[f"{name}_low"], cell[f"{name}_high"]) == pytest.approx(expected)
            assert cell[f"{name}_low"] <= cell[name] + 1e-12
            assert cell[name] <= cell[f"{name}_high"] + 1e-12


def test_the_bounds_of_a_mean_are_the_means_of_the_bounds_of_its_queries(swept):
    grid, per_query = swept
    names = [f"{name}_{end}" for name in ("precision", "recall", "mrr", "ndcg") for end in ("low", "high")]
    means = per_query.groupby(["system_id", "k"])[names].mean()
    for cell in grid.to_dict("records"):
        assert means.loc[cell["system_id"], cell["k"]].tolist() == pytest.approx([cell[n] for n in names])
    assert (per_query["ndcg"].isna() == per_query["ndcg_low"].isna()).all()


def test_the_ties_of_a_cell_are_those_of_its_run(swept):
    grid, _ = swept
    tiny = BeirFolder(path=str(TINY)).load()
    found = {job.manifest["system"]: ties(job.run(tiny), tiny.qrels) for job in jobs()}
    for cell in grid.to_dict("records"):
        told = found[cell["system"]]
        assert cell["tied_queries"] == told.decisive(cell["k"]).sum()
        for name in ("precision", "recall", "mrr", "ndcg"):
            lowest, highest = (np.nanmean(b(MEASURES[name], cell["k"])) for b in (told.lowest, told.highest))
            assert (cell[f"{name}_tie_lowest"], cell[f"{name}_tie_highest"]) == pytest.approx(
                (lowest, highest)
            )
    assert grid["tied_queries"].max() > 0


def test_a_command_computes_bounds_once_though_it_merges_twice(swept):
    before = judging._of_one_world.cache_info()
    run("retriever=bm25,faiss", "reranker=none,overlap")
    after = judging._of_one_world.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (0, 2)


def test_merging_again_writes_the_same_bytes(swept):
    before = [(FOLDER / name).read_bytes() for name in ("grid.parquet", "per_query.parquet")]
    judging._of_one_world.cache_clear()
    merge(FOLDER, state={})
    assert [(FOLDER / name).read_bytes() for name in ("grid.parquet", "per_query.parquet")] == before


@pytest.fixture
def copied(swept, tmp_path):
    """The folder of the sweep once more, to spoil."""
    judging._of_one_world.cache_clear()
    shutil.copytree(FOLDER, tmp_path / "j")
    return tmp_path / "j"


def test_another_system_widens_the_bounds_of_the_others(swept, copied):
    for path in copied.glob("faiss*"):
        shutil.rmtree(path)
    alone = merge(copied, state={}).grid.to_pandas().query("system == 'bm25'")
    beside = swept[0].query("system == 'bm25'")
    assert (beside["recall_low"].to_numpy() < alone["recall_low"].to_numpy()).all()
    assert beside["precision_high"].tolist() == alone["precision_high"].tolist()


def test_a_job_alone_has_no_bounds_in_its_own_files(swept):
    for job in jobs():
        assert pd.read_parquet(job.path / "grid.parquet")["recall_low"].isna().all()
        assert pd.read_parquet(job.path / "per_query.parquet")["recall_low"].isna().all()


def test_a_run_that_cannot_be_read_leaves_its_own_bounds_empty_and_is_told(copied):
    (damaged,) = copied.glob("bm25-*/run.parquet")
    damaged.write_bytes(b"no parquet")
    merged = merge(copied, state={})
    grid = merged.grid.to_pandas().set_index("system")
    assert grid.loc["bm25", "ndcg_low"].isna().all()
    assert grid.loc["bm25", "ndcg"].notna().all()
    assert grid.loc["faiss(hashing)", "ndcg_low"].notna().all()
    (told,) = merged.damaged
    assert "no bounds" in told
    assert "run.parquet cannot be read" in told


def test_judgements_that_were_not_kept_leave_all_bounds_empty_and_are_told_once(copied):
    next(copied.glob("collections/*/qrels/test.tsv")).unlink()
    merged = merge(copied, state={})
    assert merged.grid.to_pandas()["ndcg_low"].isna().all()
    (told,) = merged.damaged
    assert "no bounds" in told
    assert "test.tsv" in told


def test_the_top_of_the_declared_scale_is_the_grade_that_could_be_given(in_folder):
    cell = run("retriever=bm25", "collection.max_grade=10").set_index("k").loc[5]
    tiny = BeirFolder(path=str(TINY), max_grade=10).load()
    (job,) = jobs()
    assert job.manifest["max_grade"] == 10
    stored = job.run(tiny)
    expected = {}
    for top in (None, 10):
        standing = World.of_pool([stored], tiny.qrels, max_grade=top).standing(stored)
        expected[top] = bounds(MEASURES["ndcg"], standing, 5).mean[0]
    assert cell["ndcg_low"] == pytest.approx(expected[10])
    assert expected[10] < expected[None]


def test_a_measure_that_was_not_asked_for_has_no_bounds(in_folder):
    grid = run("retriever=bm25", "measures=[recall,judged]")
    assert grid["recall_low"].notna().all()
    assert (
        grid[[c.name for c in GRID if c.name.startswith(("ndcg_tie", "ndcg_l", "mrr_h"))]]
        .isna()
        .all(axis=None)
    )
