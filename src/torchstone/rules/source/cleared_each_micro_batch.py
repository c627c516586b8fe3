"""COD144: gradients are cleared in the loop that adds them up."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    optimizer_steps,
    same,
)
from torchstone.parts.source.wiring import (
    has_engine,
    is_counted,
    nested_windows,
)
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per zero_grad() in a loop of backward passes whose optimizer steps behind that loop."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        sick = []
        for backward, step in nested_windows(play):
            optimizer = next(value for moment, value in optimizer_steps(play) if moment is step)
            sick += [moment for moment in play.calls(".zero_grad") if moment.loops == backward.loops
                     and is_counted(backward.loops[-1]) and not moment.guards
                     and same(moment.value.receiver, optimizer)]
        for moment in own(source, sick):
            yield found(RULE, "zero_grad() is called with each micro-batch, the step comes after all of them",
                        where=at(moment))


SICK = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    for micro in range(4):
        optimizer.zero_grad()
        x, y = batch()
        loss = torch.nn.functional.mse_loss(model(x), y) / 4
        loss.backward()
    optimizer.step()
"""
RULE = Rule(
    code="COD144",
    name="source_cleared_each_micro_batch",
    severity="error",
    summary="gradients are cleared between micro-batches",
    why="Only the last micro-batch of each window is learnt from; the others are computed in vain.",
    fix="Call zero_grad() once per step, outside the loop over micro-batches.",
    source="torch 2.14 documentation, AMP examples: gradient accumulation",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("        optimizer.zero_grad()\n", "").replace(
        "    for micro", "    optimizer.zero_grad()\n    for micro")),
    wrong_when="gradients of each micro-batch are kept elsewhere",
)
