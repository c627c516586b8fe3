"""Plots as inline SVG: pure functions from numbers to text; colours come from the page's style.

Every text that stands in them is escaped here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from torchstone.report.scales import Curve, Scale, number, scale

if TYPE_CHECKING:
    import numpy as np

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 10, 30
MAX_DOTS = 2000


def line_chart(
    title: str,
    curves: Sequence[Curve],
    *,
    is_log: bool = False,
    from_zero: bool = False,
    marked: tuple[float, str] | None = None,
    write: Callable[[float], str] = number,
) -> str:
    """Curves over steps, as a figure with a legend; empty text where no curve has a finite point.

    marked: a step that gets a dashed line, with its name. write: how a value is written.
    """
    import numpy as np

    shown = [c for c in curves if len(c.x) and bool(np.isfinite(c.y).any())]
    if not shown:
        return ""
    heights = np.concatenate([*(c.y for c in shown), *(side for c in shown[:1] for side in _sides(c))])
    x = _steps(shown)
    y = scale(heights, HEIGHT - BOTTOM, TOP, is_log=is_log, from_zero=from_zero)
    body = [_axes(x, y, write)]
    if marked is not None and x.low <= marked[0] <= x.high:
        at = f"{x(marked[0]):.1f}"
        body.append(f'<line class="mark" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    body += [_curve(c, i, x, y) for i, c in enumerate(shown)]
    body.append(f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" x1="0" x2="0"/>')
    points = [{"n": c.name, "p": [[*_at(c, i, x, y), write(float(c.y[i]))] for i in _finite(c)]} for c in shown]
    return _figure(title, "".join(body), _legend([c.name for c in shown], marked), _said(title, shown, write), points)


def scatter(title: str, x_name: str, y_name: str, xs: np.ndarray, ys: np.ndarray, *, line: str = "equal") -> str:
    """Dots [N] (evenly thinned to MAX_DOTS), with the line y = x (`equal`) or y = 0 (`zero`)."""
    import numpy as np

    keep = np.linspace(0, len(xs) - 1, min(len(xs), MAX_DOTS)).astype(np.int64)
    xs, ys = xs[keep].astype(np.float64), ys[keep].astype(np.float64)
    both = np.concatenate([xs, ys])
    x = scale(both if line == "equal" else xs, LEFT, WIDTH - RIGHT)
    y = scale(both if line == "equal" else np.append(ys, 0.0), HEIGHT - BOTTOM, TOP)
    ends = [(x(v), y(v if line == "equal" else 0.0)) for v in (x.low, x.high)]
    body = _axes(x, y, number) + '<path class="mark" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>'.format(*ends[0], *ends[1])
    pairs = [(a, b) for a, b in zip(xs.tolist(), ys.tolist(), strict=True) if math.isfinite(a) and math.isfinite(b)]
    dots = "".join(f"M{x(a):.1f} {y(b):.1f}h0" for a, b in pairs)
    said = f"{title}: {len(pairs)} dots, {x_name} from left to right, {y_name} upwards"
    legend = f'<span class="muted">→ {escape(x_name)} · ↑ {escape(y_name)}</span>'
    return _figure(title, f'{body}<path class="dots" d="{dots}"/>', legend, said, [])


def histogram(title: str, x_name: str, values: np.ndarray, *, bins: int = 40) -> str:
    """How many of the finite values [N] fall into each of `bins` equal stretches."""
    import numpy as np

    counts, edges = np.histogram(values[np.isfinite(values)], bins=bins)
    x = Scale(float(edges[0]), float(edges[-1]), LEFT, WIDTH - RIGHT)
    y = scale(counts.astype(np.float64), HEIGHT - BOTTOM, TOP, from_zero=True)
    bars = "".join(
        f'<rect class="bar" x="{x(low):.1f}" y="{y(c):.1f}" width="{max(x(high) - x(low) - 1, 0.5):.1f}" '
        f'height="{y(0) - y(c):.1f}"><title>{c:,} in [{number(low)}, {number(high)})</title></rect>'
        for c, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    )
    legend = f'<span class="muted">→ {escape(x_name)} · ↑ examples</span>'
    return _figure(title, _axes(x, y, number) + bars, legend, f"{title}: {int(counts.sum())} examples", [])


def _figure(title: str, body: str, legend: str, said: str, points: Sequence[object]) -> str:
    data = f' tabindex="0" data-points="{escape(json.dumps(points, separators=(",", ":")))}"' if points else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)}<span class="legend">{legend}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}"{data}>{body}</svg></figure>'
    )


def _axes(x: Scale, y: Scale, write: Callable[[float], str]) -> str:
    parts = []
    for value in y.ticks(5):
        at = f"{y(value):.1f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(_tick(LEFT - 7, y(value) + 3.5, "end", write(value)))
    for value in x.ticks(6):
        parts.append(_tick(x(value), HEIGHT - 10, "middle", number(value)))
    return "".join(parts)


def _tick(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _steps(curves: Sequence[Curve]) -> Scale:
    first, last = min(float(c.x[0]) for c in curves), max(float(c.x[-1]) for c in curves)
    return Scale(first, last if last > first else first + 1, LEFT, WIDTH - RIGHT)


def _curve(curve: Curve, index: int, x: Scale, y: Scale) -> str:
    band = ""
    if curve.low is not None and curve.high is not None:
        there = _finite(curve)
        above = [f"{x(curve.x[i]):.1f} {max(y(curve.high[i]), TOP):.1f}" for i in there]
        below = [f"{x(curve.x[i]):.1f} {min(y(curve.low[i]), HEIGHT - BOTTOM):.1f}" for i in reversed(there)]
        band = f'<path class="band c{index}" d="M{"L".join(above + below)}Z"/>'
    path = "".join("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in piece) for piece in _pieces(curve, x, y))
    dots = "".join(f"M{x(a):.1f} {y(b):.1f}h0" for a, b in zip(curve.x, curve.y, strict=True) if math.isfinite(b))
    few = f'<path class="dot c{index}" d="{dots}"/>' if len(curve.x) <= 40 else ""
    return f'{band}<path class="line c{index}" d="{path}"/>{few}'


def _pieces(curve: Curve, x: Scale, y: Scale) -> Iterator[list[tuple[float, float]]]:
    """The stretches without a gap, in pixels."""
    piece: list[tuple[float, float]] = []
    for a, b in zip(curve.x.tolist(), curve.y.tolist(), strict=True):
        if math.isfinite(b):
            piece.append((x(a), y(b)))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _finite(curve: Curve) -> list[int]:
    return [i for i, value in enumerate(curve.y.tolist()) if math.isfinite(value)]


def _sides(curve: Curve) -> list[np.ndarray]:
    return [] if curve.low is None or curve.high is None else [curve.low, curve.high]


def _at(curve: Curve, i: int, x: Scale, y: Scale) -> tuple[float, float, int]:
    return round(x(curve.x[i]), 1), round(y(curve.y[i]), 1), int(curve.x[i])


def _legend(names: Sequence[str], marked: tuple[float, str] | None) -> str:
    keys = [f'<span><i class="c{i}"></i>{escape(name)}</span>' for i, name in enumerate(names)]
    if marked is not None:
        keys.append(f'<span><i class="dashed"></i>{escape(marked[1])}</span>')
    return "".join(keys)


def _said(title: str, curves: Sequence[Curve], write: Callable[[float], str]) -> str:
    ends = [(c, _finite(c)[-1]) for c in curves]
    last = [f"{c.name} ends at {write(float(c.y[i]))} at step {int(c.x[i])}" for c, i in ends]
    return f"{title}: {'; '.join(last)}"
