"""RUN711: outputs [B, 1] beside targets [B]."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the loss is another one once outputs have the shape of their targets."""
    for row in measured(rows, "batch"):
        if row["broadcast"]:
            output, target = row["broadcast"]
            what = f"outputs have shape {output}, targets {target}: the loss compares each output with every target"
            yield found(RULE, what, evidence={"output": output, "target": target})


RULE = Rule(
    code="RUN711",
    name="shapes_broadcast",
    severity="error",
    summary="the loss compares every output with every target",
    why="[B, 1] and [B] are spread to [B, B]: the model learns the mean of all targets, and the loss falls "
        "all the same.",
    fix="Bring both to one shape: output.squeeze(-1), or target.unsqueeze(-1).",
    source="documentation of torch 2.14, broadcasting semantics; torch itself only warns (torch.nn.MSELoss)",
    check=check,
    trips=lambda: toy_rows("batch", broadcast=[[32, 1], [32]]),
    passes=toy_rows,
)
