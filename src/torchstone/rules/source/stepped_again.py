"""COD149: the optimizer steps several times on one backward pass."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
    has_closure,
    innermost,
    optimizer_steps,
)
from torchstone.parts.source.value import alternatives
from torchstone.parts.source.wiring import (
    count_of,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per step in a counted loop of its own, behind a backward pass that is outside of that loop."""
    for play in source.plays:
        sick = []
        for step, optimizer in optimizer_steps(play):
            loop = innermost(step)
            is_one = all(one.kind == "call" and one.receiver is None for one in alternatives(optimizer))
            if loop is None or not is_one or has_closure(step) or count_of(loop) is None or len(step.loops) < 2:
                continue
            inner = any(loop in moment.loops for moment, _ in backwards(play))
            before = any(moment.loops == step.loops[:-1] and moment.index < step.index for moment, _ in backwards(play))
            if before and not inner and len(play.inside(loop)) == 1:
                sick.append(step)
        for moment in own(source, sick):
            yield found(RULE, "step() is called several times on the same gradients", where=at(moment))


RULE = Rule(
    code="COD149",
    name="source_stepped_again",
    severity="error",
    summary="several steps on one backward pass",
    why="All steps but the first go along a gradient of weights that are no more; the rate is larger than it says.",
    fix="One step per backward pass; raise the rate if larger steps are wanted.",
    source="torch 2.14 documentation, torch.optim: taking an optimization step",
    check=check,
    trips=lambda: changed(TRAINING, ("        optimizer.step()\n", "        for _ in range(2):\n"
                                     "            optimizer.step()\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="an optimizer of one's own that needs several calls for one step",
)
