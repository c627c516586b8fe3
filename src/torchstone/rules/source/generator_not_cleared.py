"""COD148: the discriminator's loss leaves gradients in the generator, which its step uses."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    backwards,
    is_grad_off,
    model_calls,
    optimizer_steps,
    parameters_of,
    same,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    has_engine,
    holds,
    is_cut,
)
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per backward pass through a generator before another's step, with no clearing after it."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        steps = optimizer_steps(play)
        passes = backwards(play)
        sick: dict[Moment, int] = {}
        for number, (moment, loss) in enumerate(passes[:-1]):
            after = [one for one in steps if one[0].index > moment.index and one[0].loops == moment.loops]
            is_of_two = bool(moment.loops) and len({id(value) for _, value in after}) > 1
            if not is_of_two or after[0][0].index > passes[number + 1][0].index:
                continue
            other = next((one for one in after if not same(one[1], after[0][1])), None)
            if other is not None and _leaves_gradients(play, moment, loss, after[0][1], other):
                sick[moment] = other[0].line
        for moment in own(source, sick):
            yield found(RULE, f"this leaves gradients in the model that the step on line {sick[moment]} uses",
                        where=at(moment), evidence={"step_line": sick[moment]})


def _leaves_gradients(
    play: Play, moment: Moment, loss: Value | None, mine: Value, other: tuple[Moment, Value]
) -> bool:
    """Whether a loss reaches the models of another optimizer uncut, which is not cleared before its step."""
    held = [model for one in alternatives(other[1]) for model in parameters_of(one)]
    own_held = [model for one in alternatives(mine) for model in parameters_of(one)]
    if not held or any(same(one, model) for one in own_held for model in held):
        return False
    reached = {id(one) for one in origins(loss, lambda value: not is_cut(value))}
    is_through = any(id(call.value) in reached and any(same(call.value.receiver, one) for one in held)
                     and not is_grad_off(call) for call in model_calls(play))
    cleared = [one for one in play.calls(".zero_grad") if moment.index < one.index < other[0].index]
    return is_through and not any(
        same(one.value.receiver, other[1]) or any(holds(one.value.receiver, model) for model in held)
        or any(each.kind != "call" for each in alternatives(one.value.receiver)) for one in cleared)


SICK = """
import torch
from torch import nn
made, judge = nn.Linear(4, 4), nn.Linear(4, 1)
opt_made = torch.optim.Adam(made.parameters())
opt_judge = torch.optim.Adam(judge.parameters())
for x in loader:
    opt_made.zero_grad()
    opt_judge.zero_grad()
    fake = made(noise)
    loss = judge(fake).mean() - judge(x).mean()
    loss.backward()
    opt_judge.step()
    other = -judge(made(noise)).mean()
    other.backward()
    opt_made.step()
"""
RULE = Rule(
    code="COD148",
    name="source_generator_not_cleared",
    severity="error",
    summary="the discriminator's loss is not cut from the generator",
    why="The generator steps on the sum of two gradients, of which one helps the discriminator.",
    fix="Give the discriminator fake.detach(), and clear the generator's gradients right before its own backward pass.",
    source="PyTorch tutorials, DCGAN: netD(fake.detach())",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("judge(fake)", "judge(fake.detach())")),
    wrong_when="both models are to get the gradients of this loss",
)
