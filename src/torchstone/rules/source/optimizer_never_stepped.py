"""COD135: one of several optimizers never steps."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizer_steps,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per optimizer of torch that nothing steps and nothing else is given, beside others that step."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        steps = [optimizer for _, optimizer in optimizer_steps(play)]
        if play.is_cut or not steps or not all(_is_known(one) for one in steps):
            continue
        stepped = {id(one) for step in steps for one in alternatives(step)}
        sick = [moment for moment in play.calls() if moment.value.receiver is None and not moment.loops
                and moment.value.name.startswith("torch.optim.") and "." not in moment.value.name[12:]
                and moment.value.name[12:13].isupper() and id(moment.value) not in stepped
                and not _is_given_on(play, moment.value)
                and (_is_cleared(play, moment.value) or _is_of_a_script(play, moment))]
        for moment in own(source, sick):
            yield found(RULE, "an optimizer is made, and its step() is never called", where=at(moment))


def _is_known(value: Value) -> bool:
    return all(one.kind == "call" and one.receiver is None for one in alternatives(value))


def _is_of_a_script(play: Play, moment: Moment) -> bool:
    """Whether a script makes an optimizer at its top level or in main(), and asks nothing else of it."""
    is_asked = any(any(one is moment.value for one in alternatives(other.value.receiver))
                   for other in play.calls(".state_dict", ".load_state_dict", ".register_step_pre_hook"))
    return play.entry is None and not is_asked and all(one.name == "main" for one in moment.functions)


def _is_cleared(play: Play, optimizer: Value) -> bool:
    return any(one is optimizer for moment in play.calls(".zero_grad") for one in alternatives(moment.value.receiver))


def _is_given_on(play: Play, optimizer: Value) -> bool:
    """Whether the optimizer is given to a call that was not followed, other than a schedule."""
    for moment in play.calls():
        if moment.value.definition is not None or moment.value.name.startswith("torch.optim.lr_scheduler."):
            continue
        given = [*moment.value.args, *moment.value.keywords.values()]
        if any(one is optimizer for arg in given for one in origins(arg, lambda value: value.kind != "call")):
            return True
    return False


SECOND = TRAINING.replace("for epoch in", "second = torch.optim.SGD(other.parameters(), lr=0.1)\nfor epoch in").replace(
    "        optimizer.zero_grad()\n", "        optimizer.zero_grad()\n        second.zero_grad()\n").replace(
    "        optimizer.step()\n", "        optimizer.step()\n        second.step()\n")
RULE = Rule(
    code="COD135",
    name="source_optimizer_never_stepped",
    severity="error",
    summary="an optimizer is cleared and never stepped",
    why="The parameters that it holds stay as they were first drawn.",
    fix="Call its step() after the backward pass of its loss.",
    source="torch 2.14 documentation, torch.optim: taking an optimization step",
    check=check,
    trips=lambda: changed(SECOND, ("        second.step()\n", "")),
    passes=lambda: changed(SECOND),
    wrong_when="the step is taken where the code was not followed",
)
