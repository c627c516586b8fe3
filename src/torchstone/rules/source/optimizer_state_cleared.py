"""COD134: the optimizer's state is thrown away in each step."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    innermost,
    is_optimizer,
    training_loops,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per optimizer.state.clear() in the innermost loop of a training."""
    for play in source.plays:
        loops = training_loops(play)
        sick = [moment for moment in play.calls(".clear") if innermost(moment) in loops and not moment.guards
                and moment.value.receiver is not None and moment.value.receiver.kind == "attr"
                and moment.value.receiver.name == "state" and is_optimizer(moment.value.receiver.receiver)]
        for moment in own(source, sick):
            yield found(RULE, "the optimizer's state is cleared in each step", where=at(moment))


RULE = Rule(
    code="COD134",
    name="source_optimizer_state_cleared",
    severity="error",
    summary="optimizer.state is cleared in each step",
    why="Momentum and the averages of Adam start from nothing each time: Adam becomes the sign of the gradient.",
    fix="Leave the state alone; it is of the size of the weights, and does not grow.",
    source="torch 2.14 documentation, Adam: algorithm",
    check=check,
    trips=lambda: changed(TRAINING, ("        scheduler.step()\n", "        scheduler.step()\n"
                                     "        optimizer.state.clear()\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="a step without memory is wanted, as in some meta-learning",
)
