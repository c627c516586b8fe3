"""RUN339: load_state_dict that matched nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, some, toy_loop

SHARE = 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per load that knows hardly any of its keys, and leaves the model as it was made."""
    for row in of(rows, "weights"):
        if row["num_unexpected"] and row["matched"] <= SHARE * row["num_keys"]:
            what = (f"{row['matched']} of {row['num_keys']} keys of the state fit the model, which keeps "
                    f"{row['num_missing']} of its own; first key that does not fit: {some(row['unexpected'], 1)}")
            yield found(RULE, what, where=at(row), evidence={
                "matched": row["matched"], "keys": row["num_keys"], "unexpected": row["unexpected"],
                "missing": row["missing"]})  # fmt: skip


def _load(matched: int) -> list[dict[str, object]]:
    row = {
        "event": "weights", "step": 0, "place": "train.py:9", "num_keys": 20, "num_missing": 20 - matched,
        "num_unexpected": 20 - matched, "missing": ["fc.weight"], "unexpected": ["module.fc.weight"],
        "num_parameters": 20, "matched": matched, "weights": 0, "reset": 0,
    }  # fmt: skip
    return [row, *toy_loop()]



RULE = Rule(
    code="RUN339",
    name="nothing_loaded",
    severity="error",
    summary="strict=False hides that no key of the checkpoint fits",
    why="The model starts from chance and not from what was trained before; nothing says so.",
    fix="Compare the names: strip a prefix such as 'module.' or 'model.'; print the result of load_state_dict.",
    source="mmpretrain#318; torch 2.14 documentation, Module.load_state_dict",
    check=check,
    trips=lambda: _load(0),
    passes=lambda: _load(18),
    wrong_when="several models look for their own part in one state, one after the other",
    threshold=f"at most {SHARE:.0%} of the keys fit",
)
