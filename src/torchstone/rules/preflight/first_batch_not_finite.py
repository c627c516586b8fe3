"""RUN702: NaN or infinity at the very first batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding, which names the first of inputs, targets, outputs, loss and gradients that is not finite."""
    for row in measured(rows, "batch"):
        counts = {"inputs": row["num_bad_inputs"], "targets": row["num_bad_targets"], "outputs": row["num_bad_outputs"]}
        if row["refused"] is not None:
            return
        bad = [name for name, num in counts.items() if num]
        if bad:
            others = f"; so has: {', '.join(bad[1:])}" if bad[1:] else ""
            what = f"{counts[bad[0]]:,} numbers of the {bad[0]} are NaN or infinite{others}"
            yield found(RULE, what, evidence=counts)
        elif row["value"] is None:
            yield found(RULE, "outputs and targets are finite, their loss is not", evidence=counts)
        else:
            for gradients in measured(rows, "gradients"):
                if gradients["bad"]:
                    names = gradients["bad"]
                    what = f"the loss is {row['value']:.4g}, and gradients are NaN or infinite: {', '.join(names[:4])}"
                    yield found(RULE, what, evidence={**counts, "gradients": names[:20]})


RULE = Rule(
    code="RUN702",
    name="first_batch_not_finite",
    severity="error",
    summary="NaN or infinity at the first batch",
    why="One such number makes all weights NaN at the first update.",
    fix="In the inputs: fill or drop what is missing. In outputs or gradients alone: look for log(0), 0/0, sqrt at 0, "
        "and for weights that begin too large.",
    source="IEEE 754: NaN and infinity spread through sums",
    check=check,
    trips=lambda: toy_rows("batch", num_bad_inputs=3, num_bad_outputs=10, value=None),
    passes=toy_rows,
)
