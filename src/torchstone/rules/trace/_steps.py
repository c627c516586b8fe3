"""Reading a trace, and small traces for the examples of rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

# One JSON object per event, as trace.jsonl holds them.
Trace = Sequence[dict[str, Any]]
# (index from 0, row) → what differs in that row.
Change = Callable[[int, dict[str, Any]], dict[str, Any]]


def steps(trace: Trace) -> list[dict[str, Any]]:
    """The rows of optimizer steps, in order, skipped ones too."""
    return [row for row in trace if row.get("event") == "step"]


def is_skipped(row: dict[str, Any]) -> bool:
    """Whether the weights did not move at this step."""
    return bool(row.get("skipped"))


def toy_run(num: int = 200, change: Change | None = None) -> list[dict[str, Any]]:
    """A run of `num` steps whose loss falls from 2.3, with `change(step, row)` laid over each row."""
    rows = []
    for step in range(num):
        row = {
            "event": "step", "step": step + 1, "epoch": step // 50, "examples": 32, "weight": 32.0,
            "loss": 0.3 + 2.0 * math.exp(-step / 40) + 0.05 * math.sin(7 * step), "lr": 1e-3 * (1 - step / num),
            "scale": 1.0, "skipped": None, "grad_norm": 1.0, "clipped_norm": 1.0,
            "update_ratio": 1e-3 if step % 10 == 0 else None, "wait_ms": 1.0, "step_ms": 20.0,
        }
        rows.append({**row, **(change(step, row) if change else {})})
    return rows
