"""RUN712: a loss that grows with the batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows

CLOSE = 0.01


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where equal outputs cost as many times log K as there are targets, within 1 %."""
    for row in measured(rows, "first_loss"):
        num = row["num_targets"]
        if row["log"] and num > 1 and abs(row["guess"] / (row["log"] * num) - 1) < CLOSE:
            what = f"equal outputs cost {row['guess']:.4g}, {num:,} times {row['log']:.3g}: the loss is a sum"
            evidence = {"guess": row["guess"], "log": row["log"], "num": num, "threshold": CLOSE}
            yield found(RULE, what, evidence=evidence)


RULE = Rule(
    code="RUN712",
    name="loss_is_a_sum",
    severity="advice",
    summary="the loss is summed over the batch",
    why="Gradients grow with the batch: another batch size, or a shorter last batch, is another learning rate.",
    fix="Take the mean (reduction='mean'), or divide by the number of examples.",
    source="documentation of torch 2.14, torch.nn.CrossEntropyLoss: reduction",
    check=check,
    trips=lambda: toy_rows("first_loss", value=151.0, guess=147.39, expected=150.0, error=2.0),
    passes=toy_rows,
    wrong_when="the rate was chosen for it, with one batch size",
    threshold=f"{CLOSE:.0%} of the number of targets times log K",
)
