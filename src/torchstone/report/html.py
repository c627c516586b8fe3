"""A run as one self-contained page: nothing is loaded from elsewhere, and every word of the user's is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from torchstone.flows.report import ReportData
from torchstone.report.curves import best_step, charts, examples_per_second, loss_curve
from torchstone.report.findings import findings_list
from torchstone.report.judged import judged_section
from torchstone.report.scales import number, score
from torchstone.report.style import CSS, SCRIPT
from torchstone.report.tables import baselines_table, environment_table, notes_list, plan_table


def render(data: ReportData) -> str:
    """The page as text; a part that has nothing to show is left out."""
    found = ("findings", f"Findings ({len(data.findings)})", findings_list(data.findings, loss_curve(data)))
    sections = [found] if data.findings else []  # first: what is wrong matters more than how it went
    sections += [("curves", "Curves", f'<div class="charts">{drawn}</div>' if (drawn := charts(data)) else "")]
    sections += [(j.split, f"Predictions: {j.split}", judged_section(j)) for j in data.judged]
    sections += [
        ("baselines", "Baselines", baselines_table(data.baselines)),
        *([] if data.findings else [found]),
        ("notes", "What happened", notes_list(data.notes)),
        ("plan", "Plan", plan_table(data.plan)),
        ("data", "Data", environment_table(data.data)),
        ("environment", "Environment", environment_table(data.environment)),
    ]
    footer = (
        f"Made by torchstone from {escape(data.folder)}. Intervals are 95 %, over the examples of one set: "
        "they say nothing of another seed or of other data."
    )
    return shell(data.name, _header(data), sections, lead=_gaps(data), footer=footer)


def shell(title: str, header: str, sections: Sequence[tuple[str, str, str]], *, lead: str = "", footer: str) -> str:
    """A self-contained page of sections (key, title, ready text); those without text are left out.

    title and the titles of sections are escaped here; header, lead, texts and footer are ready.
    """
    sections = [section for section in sections if section[2]]
    links = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, name, _ in sections)
    body = "".join(f'<section id="{key}"><h2>{escape(name)}</h2>{text}</section>' for key, name, text in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)} · torchstone</title><style>{CSS}</style></head><body>"
        f'{header}<nav aria-label="Parts of this page">{links}</nav><main>{lead}{body}</main>'
        f"<footer>{footer}</footer><script>{SCRIPT}</script></body></html>\n"
    )


def _header(data: ReportData) -> str:
    words = [str(value) for name in ("task", "model", "model.name") if (value := data.choice(name))]
    kind = data.status if data.status in ("finished", "stopped", "failed") else "unfinished"
    tiles = "".join(tile(*each) for each in _tiles(data))
    return (
        f'<header><h1>{escape(data.name)}</h1><span class="badge {kind}">{escape(data.status)}</span>'
        f'<div class="muted">{escape(" · ".join(words))}{_first_batch(data)}</div>'
        f'<div class="tiles">{tiles}</div></header>'
    )


def _first_batch(data: ReportData) -> str:
    """A link to the file beside the page that shows the first batch with its labels."""
    name = escape(data.first_batch)
    return f' · <a href="{name}">the first batch with its labels</a>' if name else ""


def tile(value: str, name: str, more: str, is_main: bool = False) -> str:
    """A number in a frame, with its name and what else there is to say."""
    below = f'<div class="muted small">{escape(more)}</div>' if more else ""
    kind = "tile main" if is_main else "tile"
    return f'<div class="{kind}"><span class="muted small">{escape(name)}</span><b>{escape(value)}</b>{below}</div>'


def _tiles(data: ReportData) -> list[tuple[Any, ...]]:
    tiles: list[tuple[Any, ...]] = []
    best, metric = best_step(data), str(data.choice("metric") or "")
    judged = data.judged[0] if data.judged else None
    if judged is not None and (judged.metrics.get(metric) or judged.metrics):
        name = metric if metric in judged.metrics else next(iter(judged.metrics))
        value, low, high = judged.metrics[name]
        tiles.append((score(value), f"{name} on {judged.split}", f"95 % [{score(low)}, {score(high)}]", True))
    elif data.validations:
        seen = (data.result.get("best") or {}).get("metrics") or data.validations[-1].get("metrics") or {}
        if seen:
            name = metric if metric in seen else next(iter(seen))
            tiles.append((number(seen[name]), f"{name} on validation", "", True))
    if best is not None:
        tiles.append((number(best), "best at step", ""))
    steps = data.steps.get("step")
    num_steps = data.result.get("steps") or (int(steps[-1]) if steps is not None and len(steps) else 0)
    epochs = f"{len(data.validations)} epochs" if data.validations else ""
    tiles.append((number(num_steps), "optimizer steps", epochs))
    return [*tiles, *_pace(data)]


def _pace(data: ReportData) -> list[tuple[Any, ...]]:
    import numpy as np

    tiles: list[tuple[Any, ...]] = []
    seen = data.result.get("examples_seen") or float(np.nansum(data.steps.get("examples", np.zeros(1))))
    if seen:
        tiles.append((number(seen), "examples seen", ""))
    if len(data.steps.get("step", ())):
        rate = examples_per_second(data)
        if np.isfinite(rate).any():
            tiles.append((number(float(f"{np.nanmedian(rate):.3g}")), "examples / s", "median step"))
        seconds = float(np.nansum(data.steps["wait_ms"] + data.steps["step_ms"])) / 1e3
        seconds += sum(row.get("seconds") or 0.0 for row in data.validations)
        tiles.append((duration(seconds), "time", "steps and validation"))
    return tiles


def duration(seconds: float) -> str:
    """A time as a person says it: `42 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left:02d} min" if hours else f"{minutes} min {rest:02d} s"


def _gaps(data: ReportData) -> str:
    if not data.gaps:
        return ""
    items = "".join(f"<li>{escape(gap)}</li>" for gap in data.gaps)
    return f'<section><div class="card gaps"><b>Not shown here</b><ul>{items}</ul></div></section>'
