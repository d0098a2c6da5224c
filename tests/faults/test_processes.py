"""Processes that are killed, run at once or elsewhere: the same command completes the same grid."""

import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import (
    OUR_PARTS,
    as_module,
    bench,
    calls,
    finished,
    grid,
    in_its_own_process,
    jobs,
    unmeasured,
)

SWEEP = ("-m", *OUR_PARTS, "retriever=slow", "bm25.k1=0.9,1.2,1.5", "k=[1,5]")


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


def wait_until(holds):
    for _ in range(2400):
        if holds():
            return
        time.sleep(0.05)
    pytest.fail("waited for two minutes")


def stopped_in_the_second_search(in_folder, *, by):
    process = in_its_own_process(*as_module(*SWEEP), folder=in_folder)
    wait_until(lambda: len(calls()) == 2)
    process.send_signal(by)
    return finished(process)


def test_killed_in_the_middle_the_same_command_completes_the_grid(in_folder, monkeypatch):
    killed = stopped_in_the_second_search(in_folder, by=signal.SIGKILL)
    assert (killed.code, killed.out) == (-signal.SIGKILL, "")
    assert not Path("outputs/default/grid.parquet").exists()
    (folder,) = jobs().values()
    first = (folder / "manifest.json").stat().st_mtime_ns

    answer = bench(*SWEEP, "retriever.seconds=0")

    assert answer.code == 0, answer.err
    assert (folder / "manifest.json").stat().st_mtime_ns == first
    assert len(calls()) == 2 + 2  # the one that was cut short, and the third
    completed = unmeasured(grid())
    assert list(completed["k"]) == [1, 5] * 3

    undisturbed = in_folder / "undisturbed"
    undisturbed.mkdir()
    monkeypatch.chdir(undisturbed)
    monkeypatch.setenv("BENCH_CACHE", str(undisturbed / "cache"))
    assert bench(*SWEEP, "retriever.seconds=0").code == 0
    # The job that was finished before the kill is called by the slower setting it was asked with.
    named = ["system", "parameters"]
    pd.testing.assert_frame_equal(completed.drop(columns=named), unmeasured(grid()).drop(columns=named))


def test_stopped_by_the_user_it_says_how_to_go_on(in_folder):
    stopped = stopped_in_the_second_search(in_folder, by=signal.SIGINT)

    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err == "bench: stopped; the same command goes on from here\n"
    assert len(jobs()) == 1


def test_processes_at_the_same_and_at_another_k_of_one_job_share_one_search(in_folder):
    asked = ["k=5", "k=5", "k=[1,3]"]
    commands = [as_module(*OUR_PARTS, "retriever=slow", k) for k in asked]

    answers = [finished(p) for p in [in_its_own_process(*words, folder=in_folder) for words in commands]]

    assert [answer.code for answer in answers] == [0, 0, 0], [answer.err for answer in answers]
    assert calls() == ["search"]
    assert list(grid()["k"]) == [1, 3, 5]
    assert answers[0].out == answers[1].out
    assert "R@5" in answers[0].out
    assert "R@3" in answers[2].out
    assert "R@5" not in answers[2].out


def test_the_joblib_launcher_gives_the_same_grid_and_the_same_failures(in_folder, monkeypatch):
    sweep = ("-m", *OUR_PARTS, "retriever=bm25,hybrid", "reranker=none,broken", "k=[1,5]")
    basic = bench(*sweep)
    expected = unmeasured(grid())
    assert expected.value_counts("status").to_dict() == {"ok": 4, "failed": 4}

    elsewhere = in_folder / "joblib"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("BENCH_CACHE", str(elsewhere / "cache"))
    answer = finished(
        in_its_own_process(
            *as_module(*sweep, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"), folder=elsewhere
        )
    )

    assert (answer.code, answer.out) == (1, basic.out)
    pd.testing.assert_frame_equal(unmeasured(grid()), expected)


def test_a_worker_that_dies_fails_its_job_and_the_same_command_goes_on(in_folder):
    sweep = (*OUR_PARTS, "-m", "retriever=bm25", "k=5", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")

    answer = finished(in_its_own_process(*as_module(*sweep, "reranker=deadly,none"), folder=in_folder))

    assert answer.code == 1
    assert "failed: bm25+deadly on tiny: the launcher broke off: TerminatedWorkerError" in answer.err
    assert "Traceback" not in answer.err

    assert bench("-m", *OUR_PARTS, "retriever=bm25", "k=5", "reranker=none,overlap").code == 0
    assert dict(zip(grid()["system"], grid()["status"], strict=True)) == {
        "bm25": "ok",
        "bm25+deadly": "failed",
        "bm25+overlap": "ok",
    }
