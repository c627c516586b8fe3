"""Reading the rows of a preflight, and small ones for the examples of rules. docs/preflight.md lists their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]


def measured(rows: Rows, event: str) -> Iterator[Row]:
    """The rows of one event that were measured, not only looked for."""
    yield from (row for row in rows if row.get("event") == event and not row.get("not_judged"))


def toy_rows(event: str = "", **different: Any) -> list[dict[str, Any]]:
    """What a sound start of a classifier of ten classes measures, with other values laid over the row of `event`."""
    rows: list[dict[str, Any]] = [
        {"event": "batch", "inputs": "float32 [64, 1, 8, 8]", "target": "int64 [64]", "output": "float32 [64, 10]",
         "num_bad_inputs": 0, "num_bad_targets": 0, "num_bad_outputs": 0, "value": 2.36, "refused": None,
         "refused_by": None, "broadcast": None},
        {"event": "gradients", "num": 14, "weights": 9000, "missing": [], "missing_weights": 0, "passes": 1, "bad": [],
         "num_frozen": 0, "not_owned": [], "all_zero": False, "stale": []},
        {"event": "first_loss", "value": 2.36, "kind": "classes", "is_fresh": True, "guess": 2.303, "expected": 2.35,
         "error": 0.03, "spread": 0.3, "num_outputs": 10, "num_targets": 64, "log": 2.303},
        {"event": "evaluation", "difference": 0.0, "num": 64},
        {"event": "overfit", "num": 16, "first": 2.4, "constant": 2.2, "floor": 0.0, "last": 0.1, "steps": 40,
         "seconds": 0.5, "is_over": False, "is_learnt": True},
        {"event": "augmentation", "is_wanted": True, "parts": ["shift"], "num": 16, "same_in_epochs": 0.0,
         "is_repeatable": True, "is_evaluation_random": False, "workers": 0},
    ]  # fmt: skip
    return [{**row, **different} if row["event"] == event else row for row in rows]
