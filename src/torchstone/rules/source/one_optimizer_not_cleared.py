"""COD143: of several models one is never cleared of its gradients."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    backwards,
    has_closure,
    is_optimizer,
    optimizer_steps,
    parameters_of,
    same,
    zero_grads,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import (
    has_engine,
    holds,
)
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per step of an optimizer made here that nothing clears, where all that is cleared is known."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        cleared = [moment.value.receiver for moment in play.calls(".zero_grad")]
        is_all_known = len(zero_grads(play)) == len(cleared) and all(_is_known(one) for one in cleared)
        if play.is_cut or not cleared or not is_all_known:
            continue
        sick = [step for step, optimizer in optimizer_steps(play) if step.loops and not has_closure(step)
                and _is_known(optimizer) and not _is_cleared(optimizer, cleared)
                and any(step.loops[-1] in moment.loops for moment, _ in backwards(play))]
        for step in own(source, sick):
            yield found(RULE, "this optimizer's gradients are never cleared; those of others are", where=at(step))


def _is_known(value: Value | None) -> bool:
    """Whether a value was seen being made, as one thing."""
    options = alternatives(value)
    return bool(options) and all(one.kind == "call" and one.receiver is None for one in options)


def _is_cleared(optimizer: Value, cleared: list[Value | None]) -> bool:
    """Whether the optimizer is cleared, or a model of which it holds a part; or it is not known what it holds."""
    if any(same(optimizer, one) for one in cleared):
        return True
    held = [model for one in alternatives(optimizer) for model in parameters_of(one)]
    if not held or not all(_is_known(model) for model in held):
        return True
    return any(holds(one, model) or holds(model, one) for one in cleared for model in held) or any(
        any(same(model, other) for other in parameters_of(each)) for one in cleared for each in alternatives(one)
        if is_optimizer(each) for model in held)


SICK = """
import torch
one, two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
first = torch.optim.SGD(one.parameters(), lr=0.1)
second = torch.optim.SGD(two.parameters(), lr=0.1)
for x, y in loader:
    first.zero_grad()
    loss = torch.nn.functional.mse_loss(two(one(x)), y)
    loss.backward()
    first.step()
    second.step()
"""
RULE = Rule(
    code="COD143",
    name="source_one_optimizer_not_cleared",
    severity="error",
    summary="the gradients of one of several models are never cleared",
    why="Its steps use the sum of all gradients so far, also those that losses of other models left in it.",
    fix="Call zero_grad() of each optimizer before the backward pass that it steps on.",
    source="torch 2.14 documentation, Optimizer.zero_grad; PyTorch tutorials, DCGAN",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("first.zero_grad()", "first.zero_grad()\n    second.zero_grad()")),
    wrong_when="gradients are cleared where the code was not followed",
)
