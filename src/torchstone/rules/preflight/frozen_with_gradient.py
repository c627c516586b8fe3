"""RUN707: a frozen parameter with an old gradient."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import some
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where frozen parameters in the optimizer still have gradients."""
    for row in measured(rows, "gradients"):
        stale = row.get("stale") or []
        if stale:
            what = f"{len(stale)} frozen parameters in the optimizer still have a gradient: {some(stale)}"
            yield found(RULE, what, where=Where(layer=stale[0]), evidence={"stale": stale[:20], "num": len(stale)})


RULE = Rule(
    code="RUN707",
    name="frozen_with_gradient",
    severity="error",
    summary="frozen parameters have old gradients, by which the optimizer moves them",
    why="requires_grad_(False) stops new gradients; the old one stays in .grad, and step() uses it.",
    fix="Call optimizer.zero_grad(set_to_none=True) after freezing, or make the optimizer from what is left to train.",
    source="documentation of torch 2.14, torch.optim.Optimizer.zero_grad",
    check=check,
    trips=lambda: toy_rows("gradients", stale=["stem.weight"]),
    passes=toy_rows,
)
