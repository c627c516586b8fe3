"""What the finders measured, as lines for a terminal and as a page with the picture."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from torchstone.report.plots import line_chart
from torchstone.report.scales import Curve
from torchstone.report.style import CSS, SCRIPT


def rate_page(found: Mapping[str, Any]) -> str:
    """The range test's curve as a self-contained page: loss against the logarithm of the rate."""
    import numpy as np

    exponents = np.log10(np.array(found["rates"], dtype=np.float64))
    curves = [
        Curve("smoothed loss", exponents, np.array(found["smoothed"], dtype=np.float64)),
        Curve("loss", exponents, np.array(found["losses"], dtype=np.float64)),
    ]
    best = found["suggestion"]
    mark = (float(np.log10(best)), f"{best:.2g}") if best else None
    chart = line_chart("loss against log10 of the learning rate", curves, marked=mark)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Range test of the learning rate</title>'
        f"<style>{CSS}</style></head><body><main><h1>Range test of the learning rate</h1>"
        f"<p>{escape(rate_line(found))}</p>{chart}</main><script>{SCRIPT}</script></body></html>\n"
    )


def rate_line(found: Mapping[str, Any]) -> str:
    """What the range test says, in one line."""
    best = found["suggestion"]
    return f"{best:.2g}: {found['reason']}" if best else str(found["reason"])


def batch_lines(found: Mapping[str, Any]) -> list[str]:
    """One line per size that was tried, and what follows."""
    lines = []
    for trial in found["trials"]:
        peak = "peak unknown" if trial["peak"] is None else f"peak {trial['peak'] / 2**30:.2f} GiB"
        fits = f"{trial['examples_per_s']:,.0f} examples/s" if trial["fits"] else "does not fit"
        lines.append(f"{trial['size']:>6}  {peak} · {fits}")
    micro = min(found["largest"], found["wanted"])
    lines.append(
        f"at most {found['largest']} fit into {found['budget'] / 2**30:.1f} GiB, {found['fastest']} are fastest; "
        f"{found['wanted']} a step = {found['accumulate']} x {micro}"
    )
    return [*lines, found["offer"]] if found.get("offer") else lines
