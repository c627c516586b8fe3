"""COD502: the sampler of a distributed training is not told the epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import loaders_in
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    batches_of,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per DistributedSampler that shuffles a loader in several epochs and is never told which."""
    if has_engine(source.module.imported):
        return
    seen: set[int] = set()
    for play in source.plays:
        if play.is_cut or play.calls(".set_epoch"):
            continue
        loops = [loop for loop in training_loops(play) if any(
            loop in moment.loops and moment.loops.index(loop) > 0 for moment in play.moments)]
        for loader in [one for loop in loops for one in loaders_in(batches_of(loop))]:
            sampler = loader.given("sampler", 3)
            if _shuffles(sampler) and loader.path == source.path and loader.line not in seen:
                seen.add(loader.line)
                yield found(RULE, "the DistributedSampler is never told the epoch", where=at(loader))


def _shuffles(sampler: Value | None) -> bool:
    options = alternatives(sampler)
    return bool(options) and all(
        one.kind == "call" and one.name.rpartition(".")[2] == "DistributedSampler"
        and not (shuffle is not None and not shuffle.is_const(True))
        for one in options for shuffle in [one.given("shuffle", 3)])


RULE = Rule(
    code="COD502",
    name="source_no_set_epoch",
    severity="warning",
    summary="set_epoch is missing",
    why="The sampler shuffles by its seed and the epoch: without set_epoch every epoch has the same order.",
    fix="Call sampler.set_epoch(epoch) at the start of each epoch.",
    source="torch 2.14 documentation, DistributedSampler: calling set_epoch() at the beginning of each epoch",
    check=check,
    trips=lambda: changed(DISTRIBUTED, ("    sampler.set_epoch(epoch)\n", "")),
    passes=lambda: changed(DISTRIBUTED),
    wrong_when="set_epoch is called by code that was not followed",
)
