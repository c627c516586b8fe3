"""A confusion matrix as a picture.

Legend of axes: K classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Beyond so many classes the cells are too small to read; the page lists the most confused pairs instead.
MAX_CLASSES = 30
MAX_NAME = 18


def heat_map(matrix_KK: np.ndarray, names: Sequence[str]) -> str:
    """Counts [K, K] as inline SVG: rows are true, columns are said; a cell's colour is its share of its row."""
    num = len(names)
    cell = max(18, min(46, 620 // num))
    longest = min(max(map(len, names)), MAX_NAME)
    left, top = 14 + 7 * longest, 22 + 5 * longest
    width, height = left + num * cell + 5 * longest, top + num * cell + 4
    body = [_names(name, i, cell, left, top) for i, name in enumerate(names)]
    for i, row in enumerate(matrix_KK.tolist()):
        for j, count in enumerate(row):
            body.append(_cell(count, sum(row), i == j, (left + j * cell, top + i * cell, cell), (names[i], names[j])))
    said = f"Confusion matrix of {num} classes; the table of classes below tells the same in numbers"
    return (
        f'<svg class="heat" style="max-width:{width}px" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(said)}">{"".join(body)}</svg>'
    )


def _names(name: str, i: int, cell: int, left: int, top: int) -> str:
    text = escape(name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…")
    at = f"{left + (i + 0.6) * cell:.0f} {top - 6}"
    return (
        f'<text class="tick" x="{left - 6}" y="{top + (i + 0.5) * cell + 4:.0f}" text-anchor="end">{text}</text>'
        f'<text class="tick" transform="translate({at}) rotate(-45)">{text}</text>'
    )


def _cell(count: int, total: int, is_right: bool, place: tuple[int, int, int], names: tuple[str, str]) -> str:
    x, y, size = place
    share = count / total if total else 0.0
    kind = "none" if count == 0 else "right" if is_right else "wrong"
    shade = f' style="fill-opacity:{0.08 + 0.92 * math.sqrt(share):.2f}"' if count else ""
    title = escape(f"true {names[0]}, said {names[1]}: {count:,} of {total:,}")
    rect = f'<rect class="{kind}" x="{x}" y="{y}" width="{size - 1}" height="{size - 1}"{shade}>'
    text = ""
    if count and size >= 24:
        tone = "count strong" if share > 0.3 else "count"
        text = f'<text class="{tone}" x="{x + size / 2 - 0.5:.1f}" y="{y + size / 2 + 3.5:.1f}">{count}</text>'
    return f"{rect}<title>{title}</title></rect>{text}"
