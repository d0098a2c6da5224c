"""Files that are cut short or hold garbage: noticed, and made again or named; never believed."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import OUR_PARTS, bench, calls, grid, jobs, unmeasured

SYSTEM = (*OUR_PARTS, "embedder=counting", "retriever=hybrid", "reranker=overlap")
ONCE = ["12 documents", "9 queries"]


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


def cut(file):
    os.truncate(file, file.stat().st_size // 2)


def fill(file):
    file.write_bytes(b"\x00garbage\xff" * 20)


def empty(file):
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("kind", "damage", "made_from_it", "asked"),
    [
        ("runs", cut, (), ONCE),
        ("pairs", fill, (), ONCE),
        ("indexes", empty, ("runs",), ONCE),
        ("vectors", cut, ("runs", "indexes"), ONCE * 2),
    ],
)
def test_a_damaged_entry_of_the_cache_is_dropped_and_made_again(kind, damage, made_from_it, asked):
    bench(*SYSTEM, "k=[1,5]")
    undamaged = unmeasured(grid())
    files = [path for path in Path("cache", kind).rglob("*") if path.is_file()]
    assert files
    for file in files:
        damage(file)
    for made in (*made_from_it, "../outputs"):
        shutil.rmtree(Path("cache", made))

    answer = bench(*SYSTEM, "k=[1,5]")

    assert answer.code == 0, answer.err
    assert calls() == asked
    pd.testing.assert_frame_equal(unmeasured(grid()), undamaged)


def test_an_entry_that_is_whole_but_not_what_it_was_is_noticed():
    bench(*SYSTEM, "k=5")
    undamaged = unmeasured(grid())
    (file,) = Path("cache/runs").glob("*/run.parquet")
    run = pd.read_parquet(file)
    run.assign(doc_id="horario").to_parquet(file)
    shutil.rmtree("outputs")

    bench(*SYSTEM, "k=5")

    pd.testing.assert_frame_equal(unmeasured(grid()), undamaged)


@pytest.mark.parametrize("damage", [cut, fill])
def test_a_damaged_run_is_made_again_with_a_warning(damage):
    bench(*SYSTEM, "k=1")
    (folder,) = jobs().values()
    undamaged = (folder / "run.parquet").read_bytes()
    damage(folder / "run.parquet")

    answer = bench(*SYSTEM, "k=5")

    assert answer.code == 0, answer.err
    assert "its stored run cannot be read and is made again" in answer.err
    assert (folder / "run.parquet").read_bytes() == undamaged
    assert list(grid()["k"]) == [1, 5]
    assert calls() == ONCE


def test_a_damaged_file_of_a_job_is_named_with_the_way_out():
    bench("retriever=bm25", "k=5")
    undamaged = unmeasured(grid())
    (folder,) = jobs().values()
    for name, damage in (("manifest.json", cut), ("grid.parquet", fill), ("per_query.parquet", empty)):
        file = folder / name
        whole = file.read_bytes()
        damage(file)

        answer = bench("retriever=bm25", "k=5")

        # A manifest is read before anything is done; a table when all has been, and the others stay.
        assert answer.code == (2 if name == "manifest.json" else 1)
        assert f"{file} " in answer.err
        assert "delete its folder and run the command again" in answer.err
        assert "Traceback" not in answer.err
        file.write_bytes(whole)

    shutil.rmtree(folder)
    assert bench("retriever=bm25", "k=5").code == 0
    pd.testing.assert_frame_equal(unmeasured(grid()), undamaged)


def test_a_manifest_that_says_nothing_is_none():
    bench("retriever=bm25", "k=5")
    (folder,) = jobs().values()
    for content in ("[]", '{"schema_version": 0, "ks": [5]}'):
        (folder / "manifest.json").write_text(content)

        answer = bench("retriever=bm25", "k=5")

        assert answer.code == 0, answer.err
        assert json.loads((folder / "manifest.json").read_text())["ks"] == [5]


def test_the_tables_of_the_folder_are_rebuilt_from_its_jobs():
    bench("retriever=bm25", "k=5")
    undamaged = Path("outputs/default/grid.parquet").read_bytes()
    for file, damage in (("grid.parquet", cut), ("per_query.parquet", fill)):
        damage(Path("outputs/default", file))

    assert bench("retriever=bm25", "k=5").code == 0
    assert Path("outputs/default/grid.parquet").read_bytes() == undamaged


def test_damaged_timings_are_measured_again():
    timing = ("timing=default", "timing.queries=2", "timing.calls=2")
    bench("retriever=bm25", "k=[1,5]", *timing)
    (folder,) = jobs().values()
    cut(folder / "timings.parquet")

    answer = bench("retriever=bm25", "k=[1,5]", *timing)

    assert answer.code == 0, answer.err
    assert (grid()["latency_p50_ms"] > 0).all()
    assert len(pd.read_parquet(folder / "timings.parquet")) == 4


def test_a_folder_without_a_manifest_is_unfinished_and_done_again_with_its_latency():
    timing = ("timing=default", "timing.queries=2", "timing.calls=2")
    bench("retriever=bm25", "k=[1,5]", *timing)
    (folder,) = jobs().values()
    before = unmeasured(grid())
    (folder / "manifest.json").unlink()
    cut(folder / "run.parquet")
    fill(folder / "grid.parquet")

    answer = bench("retriever=bm25", "k=[1,5]", *timing)

    assert answer.code == 0, answer.err
    assert answer.err == ""
    pd.testing.assert_frame_equal(unmeasured(grid()), before)
    assert (grid()["latency_p50_ms"] > 0).all()


def test_a_new_result_that_cannot_be_written_leaves_the_earlier_one(monkeypatch):
    bench("retriever=bm25", "k=1")
    (folder,) = jobs().values()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.record.write_trec", lambda *_, **__: full)
    answer = bench("retriever=bm25", "k=5")

    assert answer.code == 1
    assert "No space left on device" in answer.err
    assert list(grid()["status"]) == ["ok", "failed"]
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
