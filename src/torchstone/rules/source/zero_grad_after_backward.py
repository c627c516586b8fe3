"""COD102: gradients are cleared after the backward pass and before the step that needs them."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play, exclude_each_other
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, has_closure, optimizer_steps, parameters_of, same, zero_grads
from torchstone.parts.source.value import Value
from torchstone.parts.source.wiring import happens_with, is_scaler
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per step whose gradients were cleared since the backward pass before it."""
    for play in source.plays:
        sick = {step: cleared for step, optimizer in optimizer_steps(play)
                if not has_closure(step) and (cleared := _cleared_before(play, step, optimizer)) is not None}
        for step in own(source, sick):
            what = f"zero_grad() on line {sick[step].line} clears the gradients that this step was to use"
            yield found(RULE, what, where=at(step), evidence={"zero_grad_line": sick[step].line})


def _cleared_before(play: Play, step: Moment, optimizer: Value) -> Moment | None:
    """What clears this optimizer's gradients after the last backward pass before its step, in the same pass."""
    before = [one for one, _ in backwards(play) if one.index < step.index and not exclude_each_other(one, step)]
    if not before or before[-1].loops != step.loops:
        return None
    owners = [optimizer, *parameters_of(optimizer)]
    between = [one for one in zero_grads(play) if before[-1].index < one.index < step.index]
    if any(not one.is_call(".zero_grad") for one in between) or _is_given_gradients(play, before[-1], step):
        return None
    return next((one for one in between if one.loops == step.loops and happens_with(one, step)
                 and any(same(one.value.receiver, owner) for owner in owners)), None)


def _is_given_gradients(play: Play, backward: Moment, step: Moment) -> bool:
    """Whether something between the two may write gradients: a step of another kind, or a call that gets models."""
    return any(backward.index < one.index < step.index and not is_scaler(one.value.receiver)
               and one.is_call("torch.autograd.grad", ".step", ".first_step", ".restore", ".copy_", ".set_grads")
               for one in play.moments)


RULE = Rule(
    code="COD102",
    name="source_zero_grad_after_backward",
    severity="error",
    summary="gradients are cleared between backward and step",
    why="The step finds no gradients: the optimizer leaves every parameter as it is.",
    fix="Call zero_grad() before backward(), or after step().",
    source="torch 2.14 documentation, Optimizer.zero_grad and Optimizer.step",
    check=check,
    trips=lambda: changed(TRAINING, ("        optimizer.zero_grad()\n", ""),
                          ("loss.backward()\n", "loss.backward()\n        optimizer.zero_grad()\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="something that is not seen writes the gradients back",
)
