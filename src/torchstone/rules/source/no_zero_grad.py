"""COD101: gradients are never cleared between the steps of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Loop, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import backwards, has_closure, is_framework, optimizer_steps, zero_grads
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per optimizer's step in a loop around which nothing clears gradients."""
    for play in source.plays:
        if play.is_cut:
            continue
        sick = [step for step, optimizer in optimizer_steps(play)
                if step.loops and not has_closure(step) and not is_framework(optimizer)
                and _has_backward(play, step.loops) and not _is_cleared(play, step.loops)]
        for step in own(source, sick):
            what = f"{step.value.name}() is called in a loop with a backward pass, and nothing there clears gradients"
            yield found(RULE, what, where=at(step), evidence={"loop_line": step.loops[-1].node.lineno})  # type: ignore[attr-defined]


def _has_backward(play: Play, loops: tuple[Loop, ...]) -> bool:
    return any(loops[-1] in moment.loops for moment, _ in backwards(play))


def _is_cleared(play: Play, loops: tuple[Loop, ...]) -> bool:
    """Whether anything in the outermost loop clears gradients, or makes the optimizer or model anew."""
    return any(loops[0] in moment.loops for moment in zero_grads(play))


TWIN = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
RULE = Rule(
    code="COD101",
    name="source_no_zero_grad",
    severity="error",
    summary="gradients are never cleared between steps",
    why="Each step then uses the sum of all gradients so far: the step grows and points to the past.",
    fix="Call optimizer.zero_grad() once per step, before backward().",
    source="torch 2.14 documentation, Optimizer.zero_grad; stackoverflow.com/q/60335387",
    check=check,
    trips=lambda: sketch(TWIN.replace("    optimizer.zero_grad()\n", "")),
    passes=lambda: sketch(TWIN),
    wrong_when="the sum of all gradients is wanted, or a function that is not seen clears them",
)
