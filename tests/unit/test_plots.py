"""Plots: readable sizes, labels that lie on nothing, and the same bytes for the same facts."""

from __future__ import annotations

import itertools
import struct
import xml.etree.ElementTree as ET

import pandas as pd
import pytest
from matplotlib.text import Text
from tests.paper_facts import BARE, BETTER, ODD, findings

from bench.errors import BenchError
from bench.report import plots
from bench.report.drawing import LONGEST, short

BUDGET = pd.DataFrame(
    [{"system": s, "part": p, "loss": v} for s in (BARE, ODD) for p, v in (("missed", 0.1), ("cut off", 0.2))]
)
MADE = {
    "quality": lambda: plots.quality(findings()),
    "trade_off": lambda: plots.trade_off(findings()),
    "slices": lambda: plots.slices(findings()),
    "losses": lambda: plots.losses(BUDGET, title="1 - nDCG@5"),
}


def texts(plot):
    """What is written in a plot and is seen."""
    plot.figure.draw_without_rendering()
    (axes,) = plot.figure.axes
    return [text for text in axes.findobj(Text) if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("name", MADE)
def test_no_text_is_small_or_lies_on_another_or_leaves_the_picture(name):
    plot = MADE[name]()
    shown = texts(plot)
    renderer = plot.figure.canvas.get_renderer()
    # A sloping name has a box of empty corners, and that of an annotation holds its line too.
    level = [
        (text.get_text(), Text.get_window_extent(text, renderer)) for text in shown if not text.get_rotation()
    ]

    assert min(text.get_fontsize() for text in shown) >= 8
    for (one, box), (other, second) in itertools.combinations(level, 2):
        assert not box.padded(-1).overlaps(second.padded(-1)), (one, other)
    for text, box in level:
        assert (
            box.x0 >= 0 and box.y0 >= 0 and box.x1 <= plot.figure.bbox.x1 and box.y1 <= plot.figure.bbox.y1
        ), text


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_facts_give_the_same_bytes(form):
    assert MADE["trade_off"]().as_bytes(form) == MADE["trade_off"]().as_bytes(form)


def test_a_png_is_wide_enough_for_a_page_and_an_svg_is_one_and_asks_nobody():
    plot = MADE["quality"]()
    width, height = struct.unpack(">II", plot.as_bytes("png")[16:24])
    root = ET.fromstring(plot.as_bytes("svg"))

    assert (width, height) == (1440, 880)
    assert root.tag.endswith("svg")
    assert not [
        v for e in root.iter() for n, v in e.attrib.items() if n.endswith("href") and not v.startswith("#")
    ]


def test_every_system_has_its_name_at_the_end_of_its_line():
    assert {BARE, BETTER, ODD} <= {text.get_text() for text in texts(MADE["quality"]())}


def test_a_name_that_is_too_long_ends_in_dots():
    assert short("x" * 100) == "x" * (LONGEST - 1) + "…"


def test_dollars_in_a_name_are_no_formula():
    assert "$x_1$ (20)" in {text.get_text() for text in texts(MADE["slices"]())}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: plots.quality(findings(), measure="recal"), "no values of 'recal'; did you mean 'recall'"),
        (lambda: plots.trade_off(findings(), cost="money"), "cost='money': one of latency, tokens"),
        (lambda: plots.trade_off(findings(), measure="ndcg"), "no cell has both nDCG@5 and its latency"),
        (lambda: plots.slices(findings(), key="typ"), "no slices by typ; did you mean 'type'"),
        (lambda: plots.losses(BUDGET.drop(columns="loss")), "missing: loss"),
        (lambda: MADE["quality"]().as_bytes("gif"), "one of png, svg"),
    ],
)
def test_what_cannot_be_drawn_is_said(made, said):
    with pytest.raises(BenchError, match=said):
        made()


def test_a_plot_is_saved_in_the_form_of_its_name(tmp_path):
    assert MADE["losses"]().save(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
