"""Plots put what they are given at the right place, and escape what is not theirs."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from torchstone.report.heat_map import heat_map
from torchstone.report.plots import HEIGHT, WIDTH, histogram, line_chart, scatter
from torchstone.report.scales import curve

EVIL = '"><script>alert(1)</script>'


def _parsed(figure):
    return ElementTree.fromstring(figure)


def test_nothing_is_drawn_where_nothing_is_known():
    assert line_chart("Loss", [curve("a", [1, 2], [None, None]), curve("b", [], [])]) == ""


def test_a_gap_breaks_the_line_in_two():
    made = line_chart("Loss", [curve("a", [1, 2, 3, 4, 5], [1, 2, None, 3, 4])])
    path = next(e for e in _parsed(made).iter("path") if e.get("class") == "line c0")
    assert path.get("d").count("M") == 2


def test_all_points_stand_inside_the_picture_also_with_a_spike():
    y = np.ones(5000)
    y[2500] = 1e9
    made = line_chart("Loss", [curve("a", np.arange(5000), y)], marked=(10, "best"))
    for path in _parsed(made).iter("path"):
        pairs = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d"))
        assert pairs
        assert all(0 <= float(a) <= WIDTH and 0 <= float(b) <= HEIGHT for a, b in pairs)


def test_a_curve_of_a_single_point_is_drawn():
    assert "ends at 0.5 at step 1" in line_chart("Loss", [curve("a", [1], [0.5])])


def test_names_are_escaped_everywhere():
    x = np.array([1.0, 2.0])
    for made in (
        line_chart(EVIL, [curve(EVIL, [1, 2], [1, 2])], marked=(1, EVIL)),
        scatter(EVIL, EVIL, EVIL, x, x),
        histogram(EVIL, EVIL, x),
        heat_map(np.eye(2, dtype=np.int64), [EVIL, "b"]),
    ):
        _parsed(made)
        assert "<script" not in made


def test_a_scatter_is_thinned_but_keeps_its_ends():
    x = np.arange(10_000.0)
    made = _parsed(scatter("s", "x", "y", x, x))
    dots = next(e for e in made.iter("path") if e.get("class") == "dots").get("d")
    assert dots.count("M") == 2000


def test_a_histogram_holds_every_finite_value():
    made = histogram("h", "x", np.array([1.0, 2.0, 2.0, np.nan]))
    titles = [e.text for e in _parsed(made).iter("title")]
    assert sum(int(t.split()[0]) for t in titles) == 3


def test_a_heat_map_tells_each_cell():
    made = _parsed(heat_map(np.array([[3, 1], [0, 0]]), ["cat", "dog"]))
    titles = [e.text for e in made.iter("title")]
    assert titles == [
        "true cat, said cat: 3 of 4", "true cat, said dog: 1 of 4", "true dog, said cat: 0 of 0",
        "true dog, said dog: 0 of 0",
    ]  # fmt: skip
    assert [e.get("class") for e in made.iter("rect")] == ["right", "wrong", "none", "none"]
