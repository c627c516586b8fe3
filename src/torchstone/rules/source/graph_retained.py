"""COD146: backward() keeps its graph in each step of a loop."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per file with backward(retain_graph=True) in a loop that has this one backward pass."""
    for play in source.plays:
        passes = [moment for moment, _ in backwards(play) if moment.loops]
        sick = [moment for moment in passes if _retains(moment) and not play.calls("torch.autograd.grad")
                and sum(moment.loops[-1] in other.loops for other in passes) == 1]
        for moment in own(source, sick):
            yield found(RULE, "backward(retain_graph=True), and no second backward pass in the loop", where=at(moment))
            return


def _retains(moment: Moment) -> bool:
    given = moment.value.given("retain_graph", 1)
    return given is not None and given.is_const(True)


RULE = Rule(
    code="COD146",
    name="source_graph_retained",
    severity="advice",
    summary="retain_graph=True without a second backward pass",
    why="Where the graph of the last step is needed, it grows with each step; where not, it takes memory in vain.",
    fix="Leave retain_graph out; detach() what is carried from step to step.",
    source="torch 2.14 documentation, Tensor.backward: retain_graph is not needed in nearly all cases",
    check=check,
    trips=lambda: changed(TRAINING, ("loss.backward()", "loss.backward(retain_graph=True)")),
    passes=lambda: changed(TRAINING),
    wrong_when="the graph is used again where the code was not followed",
)
