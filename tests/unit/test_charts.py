"""Charts written by hand: places, ticks, names and labels that lie on nothing."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.charts import curves_chart, whisker
from bench.report.fronts import front_chart, on_front
from bench.report.labels import HIGH, LETTER, WIDE, Label, placed
from bench.report.looks import Look, symbols
from bench.report.scales import apart, costs, linear, ordinal
from bench.report.words import Words
from bench.statistics.findings import LATENCY, TOKENS, Curve, Figure, Front, Point

WORDS = Words("en")
HOSTILE = "</svg><script>alert(1)</script>&\"'"
finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=20))
def test_a_linear_scale_holds_every_value_and_ends_at_ticks(values):
    scale = linear(values)
    assert scale.low <= min(values) + 1e-6 * max(map(abs, values)) and scale.high >= max(values) - 1e-6 * max(
        map(abs, values)
    )
    assert (scale.ticks[0], scale.ticks[-1]) == (scale.low, scale.high)
    assert 2 <= len(scale.ticks) <= 9


def test_ticks_stand_at_round_figures():
    assert linear([0.41, 0.68]).ticks == (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
    assert linear([0.002, 0.97], floor=0.0).ticks == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def test_a_value_alone_lies_inside_its_scale():
    scale = linear([0.5])
    assert scale.low < 0.5 < scale.high


def test_costs_far_apart_are_logarithmic_and_near_ones_begin_at_0():
    far, near = costs([0.4, 90.0]), costs([10.0, 40.0])
    assert far.log and not near.log and near.low == 0
    assert far.at(math.sqrt(0.4 * 90)) == pytest.approx(0.5)
    assert near.at(20) == pytest.approx(0.5)
    assert not costs([0.0, 500.0]).log


def test_k_stand_in_equal_steps_whatever_lies_between_them():
    places = ordinal(4)
    steps = {round(b - a, 9) for a, b in pairwise(places)}
    assert len(steps) == 1 and 0 < places[0] < places[-1] < 1
    assert ordinal(1) == (0.5,)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=30), st.floats(1, 30))
def test_names_are_kept_apart_in_their_order(wanted, gap):
    places = apart(wanted, gap=gap, low=0, high=300)
    ordered = sorted(places)
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(ordered))
    assert [places[i] for i in sorted(range(len(wanted)), key=lambda i: wanted[i])] == ordered
    assert min(places) >= 0
    if (len(wanted) - 1) * gap <= 300:
        assert max(places) <= 300 + 1e-6


def test_names_with_room_stay_where_they_are_wanted():
    assert apart([10, 50, 90], gap=19, low=0, high=100) == (10, 50, 90)
    assert apart([50, 50], gap=20, low=0, high=100) == (40, 60)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(14, 300)), min_size=1, max_size=25),
    st.text("abc+()=", min_size=1, max_size=25),
)
def test_labels_lie_neither_on_a_mark_nor_on_each_other(points, text):
    labels = [Label(x, y, str(i), text) for i, (x, y) in enumerate(points)]
    boxes = []
    for one in placed(labels, points, height=314):
        said = f"{one.label.number} {one.label.text}" if one.whole else one.label.number
        long = LETTER * len(said)
        x, y = one.label.x * WIDE + one.dx, one.label.y + one.dy
        left = x - long if one.end else x
        boxes.append((left, y - HIGH + 3, left + long, y + 3))
    for i, box in enumerate(boxes):
        assert box[0] >= 0 and box[2] <= WIDE
        assert not any(x > box[0] and x < box[2] and y > box[1] and y < box[3] for x, y in _pixels(points))
        assert not any(_overlap(box, other) for other in boxes[:i])


def test_a_label_stays_off_the_lines_of_the_front():
    point, stroke = (0.5, 100.0), (0.0, 92.0, 1.0, 92.0)
    free, crossed = (
        placed([Label(*point, "1", "bm25")], [point], strokes=strokes, height=300)
        for strokes in ((), (stroke,))
    )
    assert free[0].dy < 0 < crossed[0].dy


def test_a_chart_of_curves_is_well_formed_and_escapes_the_names_of_systems():
    drawn = curves_chart(
        [curve(HOSTILE, {1: 0.2, 5: 0.4})], looks=looks(HOSTILE), cells=numbers(HOSTILE), words=WORDS
    )
    root = ElementTree.fromstring(str(drawn))
    assert not root.findall(".//script")
    assert root.find(".//li/span").text == HOSTILE


def test_a_chart_has_a_mark_a_cell_with_its_figure():
    drawn = chart(curve("bm25", {1: 0.25, 3: None, 5: 0.5}), curve("faiss", {1: 0.3, 3: 0.4, 5: 0.45}))
    titles = [title.text for title in drawn.iter("title")]
    assert titles[:2] == ["bm25, k=1: 0.250 (0.150–0.350)", "bm25, k=5: 0.500 (0.400–0.600)"]
    assert len(list(drawn.iter("use"))) == 5 + 2


def test_higher_values_stand_higher_and_larger_k_to_the_right():
    drawn = chart(curve("bm25", {1: 0.2, 5: 0.4, 10: 0.7}))
    marks = [mark for mark in drawn.iter("use") if mark.get("data-i")]
    xs = [float(mark.get("x").rstrip("%")) for mark in marks]
    ys = [float(mark.get("y")) for mark in marks]
    assert xs == sorted(xs) and ys == sorted(ys, reverse=True)


def test_a_system_without_any_value_is_not_drawn():
    drawn = chart(curve("bm25", {1: 0.2}), curve("faiss", {1: None}))
    assert [name.text for name in drawn.iter("span")] == ["bm25"]
    assert curves_chart([], looks={}, cells={}, words=WORDS) == ""


def test_measures_of_one_k_alone_are_drawn_so_that_no_line_is_read():
    across, apart_ = (
        chart(curve("bm25", {1: 0.2, 5: 0.4})),
        chart(curve("bm25", {1: 0.2, 5: 0.4}, across_k=False)),
    )
    assert "apart" not in across.get("class") and "apart" in apart_.get("class")


def test_the_names_at_the_ends_do_not_overlap():
    names = [f"system-{i}" for i in range(24)]
    drawn = chart(*(curve(name, {1: 0.1, 5: 0.5 + i / 1000}) for i, name in enumerate(names)))
    tops = [float(re.search(r"top:([\d.]+)px", item.get("style"))[1]) for item in drawn.iter("li")]
    assert all(b - a >= 18.9 for a, b in pairwise(tops))
    height = float(drawn.find(".//div/svg").get("height"))
    assert max(tops) < height


def test_the_front_is_joined_by_steps_and_numbered_from_the_cheapest():
    points = (point("a", 1, 0.3, 1), point("b", 1, 0.25, 2, on=False), point("a", 5, 0.6, 4))
    front = Front(measure="recall", k=None, cost=TOKENS, points=points)
    drawn = ElementTree.fromstring(
        str(front_chart(front, looks=looks("a", "b"), cells=numbers("a", "b"), words=WORDS))
    )
    assert [one.text for one in drawn.iter("tspan") if one.get("class") == "no"] == ["1", "2"]
    assert [(p.system, p.k) for p in on_front(front)] == [("a", 1), ("a", 5)]
    path = next(path for path in drawn.iter("path") if path.get("class") == "front").get("d")
    assert path.count("H") == 2 and path.count("V") == 1


def test_the_interval_of_a_cost_is_drawn_where_it_was_measured():
    def lines(lo, hi):
        front = Front(measure="ndcg", k=5, cost=LATENCY, points=(point("a", 5, 0.3, 2, lo=lo, hi=hi),))
        drawn = front_chart(front, looks=looks("a"), cells=numbers("a"), words=WORDS)
        return str(drawn).count('class="cost ')

    assert (lines(1.5, 2.5), lines(None, None)) == (1, 0)


@pytest.mark.parametrize(
    ("interval", "side"),
    [((0.01, 0.2), "up"), ((-0.2, -0.01), "down"), ((-0.1, 0.2), "open"), (None, "open")],
)
def test_a_whisker_says_by_its_shape_and_side_whether_it_leaves_out_zero(interval, side):
    drawn = ElementTree.fromstring(str(whisker(0.05, interval, reach=0.25)))
    assert drawn.get("class") == f"whisker {side}"
    assert float(drawn.find("circle").get("cx").rstrip("%")) == pytest.approx(50 + 48 * 0.05 / 0.25, abs=0.01)


def test_every_shape_is_in_the_page_once():
    ids = [group.get("id") for group in ElementTree.fromstring(str(symbols())).iter("g")]
    assert len(ids) == len(set(ids)) == 6


def curve(system: str, means: dict[int, float | None], *, across_k: bool = True) -> Curve:
    points = tuple(
        (
            k,
            Figure(
                mean=mean, lo=None if mean is None else mean - 0.1, hi=None if mean is None else mean + 0.1
            ),
        )
        for k, mean in means.items()
    )
    return Curve(system=system, measure="recall", across_k=across_k, points=points)


def chart(*curves: Curve) -> ElementTree.Element:
    names = [one.system for one in curves]
    return ElementTree.fromstring(
        str(curves_chart(list(curves), looks=looks(*names), cells=numbers(*names), words=WORDS))
    )


def looks(*systems: str) -> dict[str, Look]:
    return {name: Look(i, 1 + i % 7, i % 6, 0) for i, name in enumerate(systems)}


def numbers(*systems: str) -> dict[tuple[str, int], int]:
    return {(name, k): 10 * i + k for i, name in enumerate(systems) for k in (1, 3, 5, 10)}


def point(system: str, k: int, quality: float, cost: float, *, on: bool = True, lo=None, hi=None) -> Point:
    return Point(
        system=system,
        k=k,
        quality=quality,
        cost=cost,
        cost_lo=lo,
        cost_hi=hi,
        on_front=on,
        share_on_front=0.9,
    )


def _pixels(points):
    return [(x * WIDE, y) for x, y in points]


def _overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
