"""The curves in torchstone's own files: the trace of a run, and the rows of a watched loop."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.trace import read_trace
from torchstone.flows.read_curves_points import Log, Points, series_of
from torchstone.rules._watched import training_loaders

Rows = Sequence[Mapping[str, Any]]

# How far the losses of a watched loop must reach for its curve to be judged.
HEARD = 0.9


def is_own(path: Path) -> bool:
    """Whether a .jsonl file is a run's trace or rows of `torchstone watch`; others' lines may have an `event`, too."""
    with open(path, encoding="utf-8", errors="replace") as file:
        line = file.readline(1 << 20)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(row, dict) or not isinstance(row.get("event"), str):
        return False
    return path.name == "trace.jsonl" or (row["event"] == "start" and bool(row.keys() & {"is_script", "total_steps"}))


def read_own(path: Path) -> Log:
    """A trace.jsonl, or what `torchstone watch --rows` wrote.

    Raises StoneError as `read_trace` does, and where a step is no number.
    """
    rows = read_trace(path)
    for row in rows:
        if not isinstance(row.get("step", 0), (int, float, type(None))):
            raise StoneError(f"a row has the step {row['step']!r}, which is no number", where=str(path),
                             fix="this is no trace of torchstone, or it was changed: copy it again")
    first = rows[0] if rows else {}
    if first.get("event") == "start" and "is_script" in first:
        series, notes = series_of(points_of_rows(rows))
        return Log(str(path), "rows of torchstone watch", series, notes, rows=rows)
    series, notes = series_of(points_of_trace(rows))
    name = path.parent if path.name == "trace.jsonl" else path
    return Log(str(name), "run of torchstone", series, notes, trace=rows)


def points_of_trace(trace: Iterable[Mapping[str, Any]]) -> dict[str, Points]:
    """Losses, rates and sizes of updates of steps, and the metrics of validations."""
    points: defaultdict[str, Points] = defaultdict(Points)
    for row in trace:
        add_event(points, str(row.get("event")), float(row.get("step") or 0), row)
    return points


def add_event(points: defaultdict[str, Points], kind: str, step: float, values: Mapping[str, Any]) -> None:
    """Adds what one event of a run holds: the loss, rate and size of update of a step, the metrics of a validation."""
    if kind == "step" and not values.get("skipped"):
        for key, name in (("loss", "train/loss"), ("lr", "lr"), ("update_ratio", "update_ratio")):
            if key in values and (values[key] is not None or key == "loss"):
                points[name].add(step, _number(values[key]))
    elif kind == "validation":
        for name, value in (values.get("metrics") or {}).items():
            if isinstance(value, (int, float)):
                points[f"validation/{name}"].add(step, float(value))


def points_of_rows(rows: Rows) -> dict[str, Points]:
    """Losses of steps, and what the doctor counted itself in passes over the evaluation loader with most of them."""
    points: dict[str, Points] = defaultdict(Points)
    steps = [row for row in rows if row.get("event") == "step" and isinstance(row.get("loss"), (int, float))]
    if not steps or len({row.get("optimizer") for row in rows if row.get("event") == "step"}) != 1:
        return {}
    # The doctor sleeps where looking costs too much: losses of the beginning alone say nothing of now.
    now = max(row.get("last_step") or row.get("step") or 0 for row in rows)
    is_whole = steps[-1]["step"] >= HEARD * now
    for row in steps if is_whole else ():
        points["train/loss"].add(float(row["step"]), _number(row["loss"]))
        for key, name in (("lr", "lr"), ("update_ratio", "update_ratio")):
            if isinstance(row.get(key), (int, float)):
                points[name].add(float(row["step"]), float(row[key]))
    passes: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    trained = training_loaders(rows)
    for row in rows:
        if row.get("event") == "pass" and row["loader"] not in trained and row.get("first_step"):
            passes[row["loader"]].append(row)
    for row in max(passes.values(), key=len, default=[]):
        for key, name in (("own_loss", "validation/loss"), ("own_accuracy", "validation/accuracy")):
            if isinstance(row.get(key), (int, float)):
                points[name].add(float(row["first_step"]), float(row[key]))
    return points


def _number(value: Any) -> float:
    """A trace writes NaN and infinity as null."""
    return math.nan if value is None else float(value)
