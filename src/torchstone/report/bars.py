"""Named numbers as lying bars, such as one number per layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from torchstone.report.scales import Scale, is_wide, number

WIDTH, ROW, LEFT, RIGHT, TOP = 560, 19, 190, 70, 6
MAX_NAME = 30
MOST = 40


def bar_list(title: str, values: Sequence[tuple[str, float]], *, threshold: float | None = None) -> str:
    """One bar per name from top to bottom, as a figure; empty text where no value is a number.

    threshold: gets a dashed line. Numbers above 0 that spread over more than two powers of ten are drawn by logarithm.
    At most MOST bars are drawn, and the legend says so.
    """
    shown = [(name, float(value)) for name, value in values if math.isfinite(value)][:MOST]
    if not shown:
        return ""
    numbers = [value for _, value in shown] + ([] if threshold is None else [threshold])
    place = _scale(numbers)
    height = TOP + ROW * len(shown) + 6
    body = [_bar(name, value, index, place(value)) for index, (name, value) in enumerate(shown)]
    legend = []
    if threshold is not None:
        at = f"{place(threshold):.1f}"
        body.append(f'<line class="mark" x1="{at}" x2="{at}" y1="{TOP}" y2="{height - 6}"/>')
        legend.append(f'<span><i class="dashed"></i>threshold {escape(number(threshold))}</span>')
    if len(shown) < len(values):
        legend.append(f"<span>{len(shown)} of {len(values)}</span>")
    if place.is_log:
        legend.append("<span>by logarithm</span>")
    said = f"{title}: " + ", ".join(f"{name} {number(value)}" for name, value in shown)
    return (
        f'<figure class="chart"><figcaption>{escape(title)}<span class="legend">{"".join(legend)}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(said)}">{"".join(body)}</svg></figure>'
    )


def _scale(numbers: Sequence[float]) -> Scale:
    """From 0 on, or from below the least number where they are drawn by logarithm."""
    if is_wide(numbers):
        return Scale(min(numbers) / 2, max(numbers), LEFT, WIDTH - RIGHT, is_log=True)
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    return Scale(low, high if high > low else low + 1.0, LEFT, WIDTH - RIGHT)


def _bar(name: str, value: float, index: int, end: float) -> str:
    y = TOP + index * ROW
    text = name if len(name) <= MAX_NAME else f"…{name[1 - MAX_NAME :]}"
    width = max(end - LEFT, 1.0)
    return (
        f'<text class="tick" x="{LEFT - 8}" y="{y + 12.5}" text-anchor="end">{escape(text)}</text>'
        f'<rect class="bar" x="{LEFT}" y="{y + 2}" width="{width:.1f}" height="{ROW - 6}" rx="2">'
        f"<title>{escape(name)}: {escape(number(value))}</title></rect>"
        f'<text class="tick" x="{LEFT + width + 6:.1f}" y="{y + 12.5}">{escape(number(value))}</text>'
    )
