"""The page of a loop that was watched: its curves from the doctor's rows, the findings, and what was not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from torchstone.core import store
from torchstone.core.finding import SEVERITIES, Finding
from torchstone.flows.seen import seen, unseen
from torchstone.flows.watch import Doctor
from torchstone.report.bars import bar_list
from torchstone.report.findings import findings_list
from torchstone.report.html import shell, tile
from torchstone.report.pictures import are_wide
from torchstone.report.plots import line_chart
from torchstone.report.scales import Curve, curve, number
from torchstone.report.tables import table

Rows = Sequence[Mapping[str, Any]]


def write_watched(path: Path, script: str, doctor: Doctor) -> None:
    """Writes the page of a doctor that has stopped, whole or not at all; raises StoneError where it cannot."""
    store.write_text(path, render_watched(script, doctor.rows, doctor.findings, mistakes=doctor.mistakes))


def render_watched(script: str, rows: Rows, findings: Sequence[Finding], *, mistakes: Mapping[str, str]) -> str:
    """The page as text. script: what was run; mistakes: the doctor's own, by rule: what they left unjudged is said."""
    drawn = "".join([*_step_charts(rows), *_pass_charts(rows), _layers(rows)])
    sections = [
        ("findings", f"Findings ({len(findings)})", findings_list(findings, _loss(rows))),
        ("curves", "Curves", f'<div class="charts">{drawn}</div>' if drawn else ""),
        ("seen", "What was seen", _seen_table(rows)),
    ]
    header = f'<header><h1>{escape(script)}</h1><div class="tiles">{_tiles(rows, findings)}</div></header>'
    footer = (
        "Made by torchstone watch. Where steps are missing in a curve the doctor slept, to stay cheap; counts hold all."
    )
    return shell(script, header, sections, lead=_gaps(rows, mistakes), footer=footer)


def _tiles(rows: Rows, findings: Sequence[Finding]) -> str:
    count = seen(rows)
    told = [(severity, sum(f.severity == severity for f in findings)) for severity in SEVERITIES]
    said = ", ".join(f"{times} {severity}" for severity, times in told if times) or "nothing found"
    tiles = [tile(number(len(findings)), "findings", said, is_main=True)]
    tiles.append(tile(number(count["steps"]), "optimizer steps", ""))
    others = (("training_passes", "training passes"), ("validation_passes", "passes of validation"))
    tiles += [tile(number(count[key]), name, "") for key, name in others if count[key]]
    return "".join(tiles)


def _gaps(rows: Rows, mistakes: Mapping[str, str]) -> str:
    missing = unseen(rows)
    items = [f"Not seen, and so not judged: {', '.join(missing)}."] if missing else []
    items += [f"A mistake of the doctor's own: {name}: {text}" for name, text in mistakes.items()]
    if not seen(rows)["steps"]:
        items = ["No step of a torch optimizer was seen: nothing was judged.", *items[len(missing) > 0 :]]
    if not items:
        return ""
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<section><div class="card gaps"><b>Not shown here</b><ul>{listed}</ul></div></section>'


def _steps(rows: Rows) -> list[tuple[str, Rows]]:
    """The step rows of each optimizer, with a name for its curves."""
    kinds = {row["optimizer"]: str(row.get("kind", "")) for row in rows if row.get("event") == "optimizer"}
    by_number: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("event") == "step":
            by_number.setdefault(int(row.get("optimizer") or 0), []).append(row)
    if len(by_number) == 1:
        return [("", own) for own in by_number.values()]
    return [(f"{kinds.get(number) or 'optimizer'} {number}", own) for number, own in sorted(by_number.items())[:4]]


def _curves(rows: Rows, key: str, name: str) -> list[Curve]:
    """One curve per optimizer that has two numbers or more."""
    curves = []
    for label, own in _steps(rows):
        pairs = [(row["step"], row[key]) for row in own if isinstance(row.get(key), (int, float))]
        if len(pairs) > 1:
            curves.append(curve(label or name, [step for step, _ in pairs], [value for _, value in pairs]))
    return curves


def _loss(rows: Rows) -> Curve | None:
    return next(iter(_curves(rows, "loss", "loss at backward")), None)


def _step_charts(rows: Rows) -> list[str]:
    charts = []
    for title, key, name in (
        ("Loss", "loss", "loss at backward"), ("Learning rate", "lr", "lr of the first group"),
        ("Update-to-weight ratio", "update_ratio", "on sampled steps"),
        ("Gradient norm", "grad_norm", "on sampled steps"),
    ):  # fmt: skip
        curves = _curves(rows, key, name)
        charts.append(line_chart(title, curves, from_zero=key == "lr", is_log=key != "lr" and are_wide(curves)))
    return charts


def _pass_charts(rows: Rows) -> list[str]:
    """The doctor's own count over each evaluation loader: loss and accuracy."""
    charts = []
    loaders = {row["loader"]: _name(row) for row in rows if row.get("event") == "pass" and "own_num" in row}
    passes = [row for row in rows if row.get("event") == "pass"]
    for title, key in (("Loss in evaluation", "own_loss"), ("Accuracy in evaluation", "own_accuracy")):
        curves = []
        for loader, name in list(loaders.items())[:4]:
            own = [row for row in passes if row["loader"] == loader and row.get(key) is not None]
            if own:
                curves.append(curve(name, [row["first_step"] for row in own], [row[key] for row in own]))
        charts.append(line_chart(title, curves))
    return charts


def _name(row: Mapping[str, Any]) -> str:
    names = row.get("names") or []
    return str(names[-1]) if names else str(row.get("place") or f"loader {row['loader']}").rpartition("/")[2]


def _layers(rows: Rows) -> str:
    """Units that never fired, and gradients by layer at the last profile, where they were sampled."""
    units = [row for row in rows if row.get("event") == "units" and row.get("num_dead") is not None]
    dead = [(str(row["layer"]), row["num_dead"] / max(row["num"], 1)) for row in units]
    profile = next((row for row in reversed(rows) if row.get("event") == "profile"), None)
    norms = list(zip(profile["layers"], profile["grads"], strict=True)) if profile else []
    when = f", step {profile['step']:,}" if profile else ""
    return bar_list("Share of units that never fired", dead) + bar_list(f"Gradient norm by layer{when}", norms)


def _seen_table(rows: Rows) -> str:
    count = seen(rows)
    cells = [(escape(name.replace("_", " ")), number(times)) for name, times in count.items()]
    places = [
        (escape(str(row["event"])), f"<code>{escape(str(row['place']))}</code>")
        for row in rows if row.get("event") in ("optimizer", "schedule", "pass") and row.get("place")
    ]  # fmt: skip
    where = table(("what", "where"), list(dict.fromkeys(places))[:20]) if places else ""
    counted = table(("what", "times"), cells, numbers=(1,))
    beside = f'<div class="card">{where}</div>' if where else ""
    return f'<div class="pair"><div class="card">{counted}</div>{beside}</div>'

