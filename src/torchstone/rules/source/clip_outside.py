"""COD110: gradients are clipped where they are not: before the backward pass or after the step."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play, exclude_each_other
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, clippings, has_closure, optimizer_steps
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per clipping that follows a step and precedes a backward pass, going round the loop."""
    for play in source.plays:
        sick = [clip for clip in clippings(play) if clip.loops and _is_outside(play, clip)]
        for clip in own(source, sick):
            yield found(RULE, "gradients are clipped after the step and before the next backward pass", where=at(clip))


def _is_outside(play: Play, clip: Moment) -> bool:
    """Whether going round the innermost loop a step comes last before the clipping, and a backward pass next."""
    loop = clip.loops[-1]
    steps = [step for step, _ in optimizer_steps(play)]
    if any(has_closure(step) for step in steps):
        return False
    marks = [(one.index, "backward", one) for one, _ in backwards(play)] + [(one.index, "step", one) for one in steps]
    marks = sorted((mark for mark in marks if loop in mark[2].loops and not exclude_each_other(mark[2], clip)),
                   key=lambda mark: mark[0])
    if {kind for _, kind, _ in marks} != {"backward", "step"}:
        return False
    earlier = [kind for index, kind, _ in marks if index < clip.index]
    later = [kind for index, kind, _ in marks if index > clip.index]
    before, after = (earlier or later)[-1], (later or earlier)[0]
    return before == "step" and after == "backward"


RULE = Rule(
    code="COD110",
    name="source_clip_outside",
    severity="error",
    summary="gradients are clipped before backward or after step",
    why="The step has used the gradients as they were, or they are not there yet: nothing is clipped.",
    fix="Clip between backward() and step().",
    source="torch 2.14 documentation, clip_grad_norm_: gradients are modified in-place",
    check=check,
    trips=lambda: changed(TRAINING, ("        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n", ""),
                          ("optimizer.step()\n",
                           "optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="only the norm is wanted, to be shown",
)
