"""The small picture beside a finding, chosen by what its evidence holds.

`series` (name → [[step, value], …]) become curves; `bars` (what, values, threshold), or `layers` beside a list of as
many numbers, become bars; a finding that has a step and neither gets the run's loss, with the step marked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torchstone.core.finding import Finding
from torchstone.report.bars import bar_list
from torchstone.report.plots import line_chart
from torchstone.report.scales import Curve, curve, is_wide

# What is drawn and is therefore not listed as text.
DRAWN = ("series", "bars")


def picture(finding: Finding, loss: Curve | None) -> str:
    """The drawing as a figure; empty text where there is nothing to draw. loss: the run's own loss over its steps."""
    evidence = finding.evidence
    mark = None if finding.where.step is None else (float(finding.where.step), f"step {finding.where.step:,}")
    series, bars = evidence.get("series"), evidence.get("bars")
    if isinstance(series, Mapping) and (drawn := _curves(series, mark)):
        return drawn
    if isinstance(bars, Mapping):
        return bar_list(str(bars.get("what", "")), _pairs(bars.get("values")), threshold=_number(bars.get("threshold")))
    if layered := _layers(evidence):
        return bar_list(*layered)
    if mark is not None and loss is not None and len(loss.x) > 1 and loss.x[0] <= mark[0] <= loss.x[-1]:
        return line_chart("loss", [loss], marked=mark, is_log=are_wide([loss]))
    return ""


def _curves(series: Mapping[str, Any], mark: tuple[float, str] | None) -> str:
    curves = []
    for name, points in list(series.items())[:4]:
        pairs = _points(points)
        if pairs:
            curves.append(curve(str(name), [step for step, _ in pairs], [value for _, value in pairs]))
    title = " and ".join(one.name for one in curves)
    return line_chart(title, curves, marked=mark, is_log=are_wide(curves)) if curves else ""


def are_wide(curves: Sequence[Curve]) -> bool:
    """Whether the numbers of all curves together are to be drawn by logarithm."""
    return is_wide([value for one in curves for value in one.y.tolist()])


def _points(points: Any) -> list[tuple[float, float]]:
    """The pairs of numbers in a list; whatever else stands there is left out."""
    listed = points if isinstance(points, Sequence) and not isinstance(points, str) else []
    pairs = [pair for pair in listed if isinstance(pair, Sequence) and len(pair) == 2]
    numbers = [(_number(step), _number(value)) for step, value in pairs]
    return sorted((step, value) for step, value in numbers if step is not None and value is not None)


def _pairs(values: Any) -> list[tuple[str, float]]:
    listed = values if isinstance(values, Sequence) and not isinstance(values, str) else []
    pairs = [(str(pair[0]), _number(pair[1])) for pair in listed if isinstance(pair, Sequence) and len(pair) == 2]
    return [(name, value) for name, value in pairs if value is not None]


def _layers(evidence: Mapping[str, Any]) -> tuple[str, list[tuple[str, float]]] | None:
    """Names of layers, and the first list of as many numbers beside them, with its key."""
    layers = evidence.get("layers")
    if not isinstance(layers, Sequence) or isinstance(layers, str) or len(layers) < 2:
        return None
    for key, values in evidence.items():
        if key == "layers" or not isinstance(values, Sequence) or len(values) != len(layers):
            continue
        numbers = [_number(value) for value in values]
        if all(value is not None for value in numbers):
            title = str(key).replace("_", " ")
            return title, [(str(a), b) for a, b in zip(layers, numbers, strict=True) if b is not None]
    return None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None
