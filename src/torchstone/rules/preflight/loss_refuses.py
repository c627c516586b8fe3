"""RUN701: a batch that does not get through model and loss."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where model or loss raised an error on the first batch."""
    for row in measured(rows, "batch"):
        if row["refused"] is not None:
            output = f" and outputs {row['output']}" if row["output"] else ""
            what = f"the {row['refused_by']} refuses inputs {row['inputs']}, targets {row['target']}{output}: "
            yield found(RULE, what + row["refused"],
                        evidence={key: row[key] for key in ("inputs", "target", "output", "refused", "refused_by")})


RULE = Rule(
    code="RUN701",
    name="loss_refuses",
    severity="error",
    summary="the first batch does not get through model and loss",
    why="The run would end at its first step.",
    fix="Compare the shapes and types: cross-entropy wants outputs [B, K] and int64 classes [B], the losses of numbers "
        "and of several labels want outputs and float targets of one shape.",
    source="documentation of torch 2.14, torch.nn.functional.cross_entropy: shapes",
    check=check,
    trips=lambda: toy_rows("batch", refused="RuntimeError: expected scalar type Long", refused_by="loss"),
    passes=toy_rows,
)
