"""The house: which way imports go, and what stands in one place only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bench"

VALUES = (
    "errors", "identity", "encoding", "ids", "qrels", "collection", "runs", "grid", "lines", "reading", "odd_texts",
    "loading", "judgements", "splits",
)  # fmt: skip
PURE = (
    "gains", "measure", "metrics", "join", "evaluate", "ties", "unjudged", "statistics", "fusion", "across",
    "audit", "cells", "scores", "budget", "references", "similarity", "abstention",
)  # fmt: skip
FAMILIES = (
    "text",
    "embedders",
    "stores",
    "retrievers",
    "rerankers",
    "models",
    "backends",
    "onnx_export",
    "packaged",
    "model_folders",
    "patience",
    "servers",
)
DOING = (
    "timing", "cache", "cached", "artifacts", "output", "merge", "judging", "samples", "overrides", "config",
    "labels", "checks", "stress", "job", "pipeline", "training", "record", "latency", "sweep", "progress",
    "provenance", "api", "verbs", "reopen", "settings", "kept", "tracking",
)  # fmt: skip
TELLING = ("tables", "report", "catalogue")
TOP = ("cli", "notebook", "__main__", "__init__")

ALLOWED: dict[str, set[str]] = {
    **{name: {*VALUES} for name in VALUES},
    **{name: {*VALUES, *PURE} for name in PURE},
    "models": {"errors", "identity", "model_folders"},
    "model_folders": {"errors", "identity"},
    "backends": {"errors", "models", "onnx_export"},
    "onnx_export": {"errors", "identity", "model_folders"},
    "packaged": {"errors", "model_folders", "packaged"},
    "patience": set(),
    "servers": {"errors", "patience"},
    "text": {*VALUES, "text"},
    "embedders": {
        "errors",
        "identity",
        "models",
        "backends",
        "onnx_export",
        "packaged",
        "model_folders",
        "patience",
        "servers",
        "embedders",
    },
    "stores": {"errors", "identity", "stores"},
    "retrievers": {*VALUES, "fusion", "text", "patience", "embedders", "stores", "retrievers"},
    "rerankers": {
        *VALUES,
        "fusion",
        "text",
        "models",
        "backends",
        "onnx_export",
        "packaged",
        "model_folders",
        "patience",
        "servers",
        "embedders",
        "rerankers",
    },
    **{name: {*VALUES, *PURE, *FAMILIES, *DOING} for name in DOING},
    **{name: {*VALUES, *PURE, "artifacts", "output", *TELLING} for name in TELLING if name != "catalogue"},
    "catalogue": {"errors", "config"},
    **{name: {*VALUES, *PURE, *FAMILIES, *DOING, *TELLING, *TOP} for name in TOP},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The layer's word for a module: its file at the top, its folder below."""
    relative = path.relative_to(SOURCE)
    return relative.stem if len(relative.parts) == 1 else relative.parts[0]


def imported(path: Path) -> set[str]:
    """The parts of bench that a module imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = node.module.split(".")
            if names[0] == "bench":
                found |= {names[1]} if len(names) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("bench.")}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    assert imported(path) - ALLOWED[name_of(path)] == set()


def test_values_import_downward_and_never_each_other_in_a_circle():
    seen: dict[str, set[str]] = {name: set() for name in VALUES}
    for path in modules():
        if name_of(path) in seen:
            seen[name_of(path)] |= imported(path) & set(VALUES) - {name_of(path)}
    while seen:
        ready = [name for name, needs in seen.items() if not needs & seen.keys()]
        assert ready, f"a circle among {sorted(seen)}"
        for name in ready:
            del seen[name]


def calls(path: Path) -> set[str]:
    """Dotted names that a module calls or reads as attributes."""
    return {
        ast.unparse(node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)
    }


def test_only_the_clock_reads_clocks():
    clocks = ("time.time", "time.perf_counter", "time.monotonic", "datetime.now", "datetime.datetime.now")
    readers = {name_of(path) for path in modules() if any(name in calls(path) for name in clocks)}
    assert readers <= {"timing"}


def test_scores_are_sorted_in_a_run_and_in_the_stores_alone():
    sorters = {
        str(path.relative_to(SOURCE))
        for path in modules()
        if {"np.argsort", "np.lexsort", "np.partition", "np.argpartition"} & calls(path)
    }
    # join sorts keys and judged gains, metrics the ideal of nDCG_retrieved, fusion keys, ties the gains of equal
    # scores, stakes rows, encoding ids: none sorts scores.
    assert sorters <= {
        "runs.py", "stores/__init__.py", "join.py", "fusion.py", "ties.py", "unjudged/stakes.py", "encoding.py",
    }  # fmt: skip


def test_vectors_are_normalised_in_the_dense_retriever_alone():
    dividers = {str(p.relative_to(SOURCE)) for p in modules() if "def normalised" in p.read_text()}
    assert dividers == {"retrievers/dense.py"}


def test_no_part_swallows_unknown_settings():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                starts = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
                assert not any(f.args.kwarg for f in starts), f"{path.name}: {node.name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_has_one_idea_and_says_it_first(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    assert len(path.read_text().splitlines()) <= 260


HEAVY = ("torch", "faiss", "transformers", "sentence_transformers")


def loaded(code: str, *, cwd: Path) -> set[str]:
    """What a fresh interpreter has loaded after this code."""
    tail = f"; import sys; print('LOADED', *[m for m in {(*HEAVY, 'hydra', 'numpy', 'pandas')!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], cwd=cwd, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split("LOADED")[1].split())


def test_help_loads_nothing(tmp_path):
    assert loaded("from bench.cli import main; main(['--help'])", cwd=tmp_path) == set()


def test_tables_open_where_no_model_library_is_loaded(tmp_path):
    assert not loaded("import bench.tables", cwd=tmp_path) & {*HEAVY, "hydra"}


def test_folders_are_compared_and_held_to_rules_without_hydra_and_models(tmp_path):
    modules = "bench.verbs.compare, bench.tables.compare, bench.verbs.gate, bench.tables.gate"
    modules += ", bench.verbs.report, bench.verbs.report_request, bench.report.told"
    assert not loaded(f"import {modules}", cwd=tmp_path) & {*HEAVY, "hydra"}
