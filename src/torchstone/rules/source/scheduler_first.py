"""COD103: the scheduler steps before the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import optimizer_steps, same, scheduler_steps
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import happens_with
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per scheduler of torch that steps ahead of its optimizer's first step."""
    for play in source.plays:
        sick = [moment for moment, scheduler in scheduler_steps(play) if _is_first(play, moment, scheduler)]
        for moment in own(source, sick):
            yield found(RULE, "scheduler.step() comes before the first optimizer.step() of its loop", where=at(moment))


def _is_first(play: Play, moment: Moment, scheduler: Value) -> bool:
    """Whether the optimizer of a scheduler steps later in the same loop, and not before."""
    if not moment.loops or moment.value.args or moment.value.keywords:
        return False
    made = [one for one in alternatives(scheduler) if one.name.startswith("torch.optim.lr_scheduler.")]
    if not made:
        return False
    steps = [step for step, optimizer in optimizer_steps(play) if same(made[0].given("optimizer", 0), optimizer)]
    if not steps or any(step.index < moment.index for step in steps):
        return False
    return moment.loops[-1] in steps[0].loops and happens_with(moment, steps[0])


RULE = Rule(
    code="COD103",
    name="source_scheduler_first",
    severity="warning",
    summary="the scheduler steps before the optimizer",
    why="The first value of the schedule is never used, and every later one comes a step early.",
    fix="Call optimizer.step() first, then scheduler.step().",
    source="torch 2.14 documentation, How to adjust learning rate (order since torch 1.1)",
    check=check,
    trips=lambda: changed(TRAINING, ("        optimizer.step()\n        scheduler.step()\n",
                                     "        scheduler.step()\n        optimizer.step()\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="the schedule is meant to begin with its second value",
)
