"""The program started as a process: what it loads, from where it works, what goes to which stream."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.program import TINILY, as_module, copy_of_tiny, finished, in_its_own_process, on

HEAVY = ("torch", "faiss", "transformers", "sentence_transformers")
CONSOLE_SCRIPT = Path(sys.executable).with_name("bench")


@pytest.fixture(autouse=True)
def _alone(in_folder):
    """Every test has a folder and a cache of its own."""


def test_help_answers_at_once_and_has_examples(in_folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = finished(in_its_own_process(*as_module("--help", on=()), folder=in_folder))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert answer.code == 0
    assert "python -m bench retriever=faiss k=5" in answer.out
    # Processor time, which a busy machine does not stretch.
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 1.0
    assert not any(in_folder.iterdir())


def test_bm25_without_a_reranker_loads_no_model_library(in_folder):
    words = [
        *TINILY,
        "retriever=bm25",
        "reranker=none",
        "timing=default",
        "timing.calls=2",
        "timing.queries=2",
    ]
    code = (
        "import sys; from bench.cli import main; code = main(sys.argv[1:]);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=in_folder, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_the_module_and_the_console_script_are_one_program_with_one_result(in_folder):
    if not CONSOLE_SCRIPT.exists():
        pytest.skip(f"no console script beside {sys.executable}: the package is not installed there")
    copy_of_tiny(in_folder)
    commands = {
        "module": as_module("retriever=hybrid", "k=[1,5]", on=on(Path("..") / "tiny")),
        "script": (str(CONSOLE_SCRIPT), *on(Path("..") / "tiny"), "retriever=hybrid", "k=[1,5]"),
    }
    answers, runs = [], []
    for number, (name, command) in enumerate(commands.items()):
        folder = in_folder / name
        folder.mkdir()
        # Cold caches and another order of every set of strings.
        own = {"BENCH_CACHE": str(folder / "cache"), "PYTHONHASHSEED": str(number)}
        answers.append(finished(in_its_own_process(*command, folder=folder, **own)))
        runs += [path.read_bytes() for path in folder.glob("outputs/default/*/run.parquet")]

    assert answers[0].code == 0, answers[0].err
    assert answers[0] == answers[1]
    assert answers[0].err == ""
    assert answers[0].last_line == "outputs/default/grid.parquet"
    assert len(runs) == 2
    assert runs[0] == runs[1]


def test_paths_are_relative_to_the_folder_one_stands_in(in_folder):
    copy_of_tiny(in_folder)
    elsewhere = in_folder / "elsewhere"
    elsewhere.mkdir()

    answer = finished(in_its_own_process(*as_module("retriever=bm25", on=on(Path("tiny"))), folder=elsewhere))

    assert (answer.code, answer.out) == (2, "")
    assert "collection.path: there is no folder tiny" in answer.err
    assert not any(elsewhere.iterdir())


def test_a_reader_that_closes_early_is_no_failure(in_folder):
    process = in_its_own_process(*as_module("list", on=()), folder=in_folder)
    process.stdout.close()

    assert process.wait(timeout=60) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
