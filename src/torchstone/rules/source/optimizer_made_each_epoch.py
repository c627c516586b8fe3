"""COD126: the optimizer or scheduler is made anew in each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Loop, Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import optimizer_steps, optimizers, parameters_of, same, training_loops
from torchstone.parts.source.value import Value
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per optimizer or scheduler made in the very loop over epochs or batches that trains with it."""
    for play in source.plays:
        loops = training_loops(play)
        made = {id(one) for one in optimizers(play)}
        sick = [moment for moment in play.calls() if moment.value.receiver is None and moment.loops
                and (id(moment.value) in made or _is_schedule(moment.value)) and _is_remade(play, moment, loops)]
        for moment in own(source, sick):
            kind = "scheduler" if _is_schedule(moment.value) else "optimizer"
            yield found(RULE, f"the {kind} is made in the loop over epochs, for a model made before it",
                        where=at(moment),
                        evidence={"loop_line": getattr(moment.loops[-1].node, "lineno", 0)})


def _is_schedule(value: Value) -> bool:
    return value.name.startswith("torch.optim.lr_scheduler.")


def _is_remade(play: Play, moment: Moment, loops: list[Loop]) -> bool:
    loop = moment.loops[-1]
    arms = {id(guard.node) for guard in play.inside(loop)[0].guards}
    if any(id(guard.node) not in arms for guard in moment.guards) or not (loop in loops or _is_over_epochs(loop)):
        return False
    optimizer = moment.value.given("optimizer", 0) if _is_schedule(moment.value) else moment.value
    if optimizer is None or (_is_made_in(play, optimizer, loop) and _is_schedule(moment.value)):
        return False
    models = parameters_of(optimizer)
    if not models or any(_is_made_in(play, model, loop) for model in models):
        return False
    return any(loop in step.loops and same(one, optimizer) for step, one in optimizer_steps(play))


def _is_over_epochs(loop: Loop) -> bool:
    """Whether a loop counts epochs, by the name of what it counts."""
    return isinstance(loop.node, ast.For) and "epoch" in ast.unparse(loop.node.target).lower()


def _is_made_in(play: Play, value: Value, loop: Loop) -> bool:
    return any(one.value is value and loop in one.loops for one in play.calls())


RULE = Rule(
    code="COD126",
    name="source_optimizer_made_each_epoch",
    severity="warning",
    summary="the optimizer or scheduler is made anew in each epoch",
    why="Momentum, the moments of Adam and the place in the schedule start from nothing each time.",
    fix="Make it once, before the loop.",
    source="torch 2.14 documentation, torch.optim: constructing an optimizer",
    check=check,
    trips=lambda: changed(TRAINING, ("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n", ""),
                          ("    model.train()\n",
                           "    model.train()\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="the state is to be forgotten at each epoch",
)
