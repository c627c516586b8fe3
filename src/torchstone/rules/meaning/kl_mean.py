"""RUN414: kl_div averaged over classes as well."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where kl_div is called with reduction='mean' in training."""
    for row in of(rows, "loss"):
        if row["function"] == "kl_div" and row["has_grad"] and row.get("reduction") == "mean":
            num = row["input_shape"][-1] if row["input_shape"] else 1
            what = f"kl_div with reduction='mean' divides by the {num} classes too: it weighs {num} times too little"
            yield found(RULE, what, where=at(row), evidence={"classes": num})
            return



RULE = Rule(
    code="RUN414",
    name="kl_mean",
    severity="advice",
    summary="reduction='mean' of kl_div is not the divergence",
    why="Beside another loss it counts less the more classes there are.",
    fix="reduction='batchmean'",
    source="torch 2.14 documentation, KLDivLoss",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="kl_div")]),
    passes=lambda: toy_loop(more=[toy_loss(function="kl_div", reduction="batchmean")]),
    wrong_when="the weight was tuned for it",
)
