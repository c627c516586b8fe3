"""RUN326: the model inside of DDP is called instead of DDP."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop, toy_model

STEPS = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per wrapper that never ran although its optimizer steps."""
    num = sum(row.get("event") == "step" for row in rows)
    for row in of(rows, "model"):
        if row.get("wrapper") and not row.get("forwards") and num >= STEPS:
            what = f"{row['wrapper']} was built and its forward pass never ran in {num} steps: gradients are not shared"
            yield found(RULE, what, where=at(row, place_of(rows, "loss", has_grad=True)), evidence={"steps": num})


RULE = Rule(
    code="RUN326",
    name="ddp_bypassed",
    severity="error",
    summary="model.module(x) is called in training, so that ranks do not share gradients",
    why="DDP sets up its reduction in its own forward pass; without it every rank trains a model of its own.",
    fix="Call the wrapped model: model(x); keep .module for saving.",
    source="minimind#853; RAE#40",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(wrapper="DistributedDataParallel", forwards=0)]),
    passes=lambda: toy_loop(more=[toy_model(wrapper="DistributedDataParallel")]),
    threshold=f"{STEPS} steps",
    explains=("RUN350",),
)
