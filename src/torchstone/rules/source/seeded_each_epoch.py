"""COD136: the seed is set to the same number in each epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizer_steps,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

SEEDS = ("torch.manual_seed", "lightning.seed_everything", "transformers.set_seed", "torch.random.manual_seed")


def check(source: Source) -> Iterator[Finding]:
    """One finding per seeding with a constant in the loop around a training loop, with loader and model made before."""
    for play in source.plays:
        made = {id(moment.value): moment for moment in play.calls()}
        for inner in training_loops(play):
            first = play.inside(inner)[0]
            outer = first.loops[:first.loops.index(inner)]
            optimizer = [made.get(id(one)) for moment, value in optimizer_steps(play) if inner in moment.loops
                         for one in alternatives(value)]
            sick = [moment for moment in play.calls(*SEEDS) if moment.loops and moment.loops[-1] in outer
                    and inner not in moment.loops and _is_constant(moment.value)
                    and all(one is not None and moment.loops[-1] not in one.loops for one in optimizer)]
            for moment in own(source, sick):
                yield found(RULE, "the seed is set to one number in each epoch", where=at(moment))


def _is_constant(value: Value) -> bool:
    options = alternatives(value.given("seed", 0))
    return bool(options) and all(one.kind == "const" for one in options)


RULE = Rule(
    code="COD136",
    name="source_seeded_each_epoch",
    severity="warning",
    summary="the seed is set anew in each epoch",
    why="Every epoch has the same order of rows, the same dropped units and the same augmentation.",
    fix="Seed once, before the model and the loaders are made.",
    source="torch 2.14 documentation, Reproducibility",
    check=check,
    trips=lambda: changed(TRAINING, ("    model.train()\n", "    torch.manual_seed(0)\n    model.train()\n")),
    passes=lambda: changed(TRAINING, ("for epoch in", "torch.manual_seed(0)\nfor epoch in")),
    wrong_when="the same draws are wanted in each epoch",
)
