"""COD104: the scheduler steps with each micro-batch, the optimizer only with each window."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import scheduler_steps
from torchstone.parts.source.wiring import has_engine, is_counted, nested_windows, windows
from torchstone.rules._sketches import ACCUMULATED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per scheduler's step outside the branch in which the optimizer steps."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        sick = []
        for _, step, _ in windows(play):
            inner = {id(guard.node) for guard in step.guards}
            sick += [moment for moment, _ in scheduler_steps(play) if moment.loops == step.loops
                     and not moment.value.args and not any(id(guard.node) in inner for guard in moment.guards)]
        for backward, step in nested_windows(play):
            sick += [moment for moment, _ in scheduler_steps(play) if moment.loops == backward.loops
                     and not moment.value.args and not moment.guards and is_counted(backward.loops[-1])
                     and len(step.loops) == len(backward.loops) - 1]
        for moment in own(source, sick):
            yield found(RULE, "scheduler.step() is called with each micro-batch, optimizer.step() is not",
                        where=at(moment))


RULE = Rule(
    code="COD104",
    name="source_scheduler_per_micro_batch",
    severity="warning",
    summary="the scheduler steps with each micro-batch under accumulation",
    why="The schedule runs as many times too fast as batches are accumulated.",
    fix="Call scheduler.step() in the branch that calls optimizer.step().",
    source="torch 2.14 documentation, How to adjust learning rate; AMP examples, gradient accumulation",
    check=check,
    trips=lambda: changed(ACCUMULATED, ("        scheduler.step()\n", ""),
                          ("    loss.backward()\n", "    loss.backward()\n    scheduler.step()\n")),
    passes=lambda: changed(ACCUMULATED),
    wrong_when="the schedule's length is counted in micro-batches",
)
