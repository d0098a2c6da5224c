"""Results in a notebook: what they say of themselves, their plots, and the example that is executed."""

from __future__ import annotations

import base64
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.program import OUR_PARTS, TINILY, bench, on
from tests.report_facts import hostile_collection

import bench as package
from bench.errors import BenchError

EXAMPLE = Path(__file__).parents[2] / "docs" / "example.ipynb"
SWEEP = ("-m", "retriever=bm25", "reranker=none,overlap", "k=[1,3,5,10]")


@pytest.fixture
def results(in_folder):
    assert bench(*SWEEP).code == 0
    return package.load("outputs/default")


@pytest.fixture
def sliced(in_folder):
    """On a collection with enough queries of a type to be told apart."""
    assert bench(*SWEEP, on=on(hostile_collection(in_folder))).code == 0
    return package.load("outputs/default")


def test_results_say_what_they_hold(results):
    assert repr(results) == "outputs/default:\n  tiny: 2 systems, k 1, 3, 5, 10, 8 queries"
    page = results._repr_html_()
    assert "2 systems, k 1, 3, 5, 10" in page
    assert page.count("<tr>") == 8
    row = results.grid.iloc[0]
    assert f"<td>{row['ndcg']:.3f}</td>" in page


def test_results_say_what_failed(in_folder):
    found = package.run(*TINILY, *OUR_PARTS, "-m", "retriever=bm25", "reranker=none,broken", "k=1")

    assert "1 cell failed or skipped" in repr(found)


def test_results_are_plotted(sliced):
    assert sliced.plot("quality").as_bytes("png").startswith(b"\x89PNG")
    title = sliced.plot("slices", key="type").figure.axes[0].get_title(loc="left")
    assert title == "nDCG@5 / type, hostile"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "qualty"}, "no plot 'qualty'; did you mean 'quality'"),
        ({"collection": "tinny"}, "nothing of 'tinny'; did you mean 'tiny'"),
        ({"name": "losses"}, "no loss budgets"),
        ({"name": "trade_off"}, "no cell has both Complete and its latency"),
    ],
)
def test_a_plot_that_cannot_be_is_named(results, asked, said):
    with pytest.raises(BenchError, match=said):
        results.plot(**asked)


def test_losses_are_drawn_from_what_the_folder_holds(results):
    rows = [{"system": "bm25", "part": part, "loss": 0.1} for part in ("missed", "cut off")]
    pd.DataFrame(rows).to_parquet("outputs/default/diagnosis.parquet")

    assert len(results.plot("losses").figure.axes[0].containers) == 2


@pytest.mark.slow
def test_the_example_notebook_runs_and_shows_its_plots(sliced):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLE, as_version=4)
    nbformat.validate(notebook)

    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(Path.cwd())}}
    ).execute()

    shown = [out.data for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    pictures = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    assert len(pictures) == 3
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert "2 systems, k 1, 3, 5, 10" in shown[0]["text/html"]
