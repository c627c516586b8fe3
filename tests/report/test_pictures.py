"""The small picture beside a finding goes by its evidence, and stands whatever the evidence holds."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from made_runs import EVIL
from test_html import Page

from torchstone.core.finding import Finding, Where
from torchstone.report.bars import LEFT, RIGHT, WIDTH, bar_list
from torchstone.report.findings import findings_list
from torchstone.report.pictures import picture
from torchstone.report.scales import curve

FINDING = Finding("RUN604", "error", "what", "why", "fix", Where(step=20))
LOSS = curve("train", list(range(1, 41)), [2.0 - 0.01 * step for step in range(40)])


def drawn(evidence: dict[str, Any], **changes: Any) -> str:
    """The picture of a finding with this evidence."""
    return picture(replace(FINDING, evidence=evidence, **changes), LOSS)


def test_series_become_curves_with_the_step_of_the_finding_marked() -> None:
    page = drawn({"series": {"evaluation": [[10, 1.0], [20, 0.5], [30, 0.9]], "training": [[10, 1.0], [30, 0.2]]}})
    assert "evaluation and training" in page
    assert page.count('class="line c') == 2
    assert page.count('class="mark"') == 1
    assert "step 20" in page


def test_curves_that_spread_over_more_than_two_powers_of_ten_are_drawn_by_logarithm() -> None:
    wide = drawn({"series": {"loss": [[1, 1.0], [2, 10.0], [3, 100.0], [4, 1000.0]]}})
    ys = [float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", re.search(r'class="line c0" d="M([^"]*)"', wide)[1])]
    steps = [before - after for before, after in pairwise(ys)]
    assert max(steps) - min(steps) < 1  # equal factors are equal lengths


def test_bars_are_as_long_as_their_numbers_and_the_threshold_has_a_line() -> None:
    page = drawn({"bars": {"what": "dead", "values": [["a", 1.0], ["b", 0.5], ["c", 0.0]], "threshold": 0.8}})
    widths = [float(width) for width in re.findall(r'class="bar" x="\d+" y="[\d.]+" width="([\d.]+)"', page)]
    assert widths[0] == pytest.approx(WIDTH - LEFT - RIGHT)
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.1)
    assert widths[2] <= 1
    assert float(re.search(r'class="mark" x1="([\d.]+)"', page)[1]) == pytest.approx(LEFT + 0.8 * widths[0], abs=0.1)


def test_layers_beside_as_many_numbers_become_bars() -> None:
    assert "grads" in drawn({"layers": ["one", "two"], "grads": [1e-9, 1.0], "steps": 3})
    assert "by logarithm" in drawn({"layers": ["one", "two"], "grads": [1e-9, 1.0]})


def test_a_finding_with_a_step_and_no_numbers_of_its_own_gets_the_runs_loss() -> None:
    assert 'class="mark"' in drawn({})
    assert drawn({}, where=Where(step=None)) == ""
    assert drawn({}, where=Where(step=99)) == ""
    assert picture(FINDING, None) == ""


@pytest.mark.parametrize(
    "evidence",
    [
        {"series": {"loss": []}}, {"series": {"loss": [[1], "x", None, [2, "y"]]}}, {"series": 3}, {"bars": 3},
        {"bars": {}}, {"bars": {"what": 1, "values": [["a", None], ["b", float("nan")], 4]}}, {"layers": ["a", "b"]},
        {"layers": ["a", "b"], "values": ["x", "y"]}, {"layers": 3},
        {"series": {"loss": [[1, 0.5]]}}, {"bars": {"what": "w", "values": [["a", -1.0]], "threshold": "x"}},
    ],
)  # fmt: skip
def test_evidence_of_another_form_draws_less_and_never_fails(evidence: dict[str, Any]) -> None:
    Page(findings_list([replace(FINDING, evidence=evidence)], LOSS))


def test_names_in_pictures_are_escaped() -> None:
    for evidence in (
        {"series": {EVIL: [[1, 1.0], [2, 2.0]]}}, {"bars": {"what": EVIL, "values": [[EVIL, 1.0]]}},
        {"layers": [EVIL, "b"], EVIL: [1.0, 2.0]},
    ):  # fmt: skip
        page = findings_list([replace(FINDING, evidence=evidence, what=EVIL, fix=EVIL)], LOSS)
        assert "<script" not in page
        Page(page)


def test_what_is_drawn_is_not_listed_again() -> None:
    page = findings_list([replace(FINDING, evidence={"series": {"loss": [[1, 1.0], [2, 0.123456]]}, "threshold": 7})])
    assert "&quot;threshold&quot;: 7" in page
    assert "0.123456" not in page


def test_bars_beyond_forty_are_counted_and_not_drawn() -> None:
    page = bar_list("many", [(str(number), float(number)) for number in range(60)])
    assert page.count('class="bar"') == 40
    assert "40 of 60" in page
