"""COD404: zero_grad is told to keep zeros."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per zero_grad(set_to_none=False)."""
    for _, moment in source.moments(".zero_grad"):
        given = moment.value.given("set_to_none", 0)
        if given is not None and given.is_const(False) and isinstance(given.node, ast.Constant):
            yield found(RULE, "zero_grad is told set_to_none=False", where=at(moment))


RULE = Rule(
    code="COD404",
    name="set_to_none_false",
    severity="advice",
    summary="zero_grad(set_to_none=False)",
    why="Gradients are then filled with zeros: more memory traffic, and parameters without gradient still decay.",
    fix="Call zero_grad() alone: gradients become None (the default since torch 2.0).",
    source="torch 2.14 documentation, Optimizer.zero_grad; TorchFix TOR402",
    check=check,
    trips=lambda: sketch('import torch\nmodel = torch.nn.Linear(4, 1)\nmodel.zero_grad(set_to_none=False)\n'),
    passes=lambda: sketch('import torch\nmodel = torch.nn.Linear(4, 1)\nmodel.zero_grad()\n'),
    wrong_when="something reads the zeros, such as a captured graph",
)
