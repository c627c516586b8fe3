"""COD116: what is left of an accumulation at the end of an epoch is not stepped on its own."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import batches_of, innermost, is_loader, optimizer_steps
from torchstone.parts.source.value import Value
from torchstone.parts.source.wiring import has_engine, windows
from torchstone.rules._sketches import ACCUMULATED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per step of each k batches with nothing for the batches that are left at a loader's end."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        sick = [step for _, step, test in windows(play) if _is_lost(play, step, test)]
        for step in own(source, sick):
            yield found(RULE, "the batches after the last whole window of a loader get no step of their own",
                        where=at(step))


def _is_lost(play: Play, step: Moment, test: Value) -> bool:
    loop = innermost(step)
    is_bare = test.kind == "op" and test.name == "Eq"
    if loop is None or not is_bare or not is_loader(batches_of(loop)):
        return False
    return not any(other.index > step.index and loop not in other.loops for other, _ in optimizer_steps(play))


RULE = Rule(
    code="COD116",
    name="source_last_window_lost",
    severity="advice",
    summary="the last, shorter window of an accumulation gets no step",
    why="Its gradients are lost, or fall into the first window of the next epoch.",
    fix="Step also where i + 1 == len(loader), dividing by the number of batches that there are.",
    source="torch 2.14 documentation, AMP examples: gradient accumulation",
    check=check,
    trips=lambda: changed(ACCUMULATED, (" or i + 1 == len(loader)", "")),
    passes=lambda: changed(ACCUMULATED),
    wrong_when="the number of batches is a multiple of the window",
)
