"""RUN352: losses are scaled for float16, and nothing is computed in it."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, steps_by_optimizer, toy_loop

STEPS = 10


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with scaled steps in a script that never enters autocast, all weights in float32."""
    end = next(iter(of(rows, "end")), None)
    if end is not None and end.get("num_autocasts", 0):
        return
    for index, own in steps_by_optimizer(rows):
        scaled = [row for row in own if row["is_scaled"] and not row.get("autocasts") and not row.get("autocast")]
        is_whole = all(row.get("part_dtype", "float32") == "float32" for row in own)
        if len(scaled) == len(own) >= STEPS and is_whole:
            what = f"all {len(own)} losses were scaled, and no forward pass ran under autocast"
            yield found(RULE, what, where=at(own[-1], place_of(rows, "optimizer", optimizer=index)),
                        evidence={"steps": len(own), "autocasts": 0})


RULE = Rule(
    code="RUN352",
    name="scaler_without_autocast",
    severity="warning",
    summary="a loss scaler without half precision",
    why="Everything runs in float32: the speed and the memory that half precision was chosen for are not had.",
    fix="Run the forward pass and the loss under torch.autocast(device_type=…), or leave the scaler away.",
    source="lightning-thunder#725; torch 2.14 documentation, Automatic Mixed Precision",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"is_scaled": True}),
    passes=lambda: toy_loop(change=lambda number, row: {"is_scaled": True, "autocast": "float16"}),
    wrong_when="a part of the model is moved to float16 by hand",
    threshold=f"all of {STEPS} steps or more",
)
