"""COD152: the weights are drawn anew in each epoch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizer_steps,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per model.apply(f), f drawing weights, in a loop around a training whose optimizer is older."""
    for play in source.plays:
        made = {id(moment.value): moment for moment in play.calls()}
        sick = []
        for inner in training_loops(play):
            around = play.inside(inner)[0].loops
            outer = around[:around.index(inner)]
            makers = [made.get(id(one)) for moment, value in optimizer_steps(play) if inner in moment.loops
                      for one in alternatives(value)]
            sick += [moment for moment in play.calls(".apply") if moment.loops and moment.loops[-1] in outer
                     and not moment.guards and _draws(moment.value)
                     and all(one is not None and moment.loops[-1] not in one.loops for one in makers)]
        for moment in own(source, sick):
            yield found(RULE, "the weights are drawn anew in the loop over epochs", where=at(moment))


def _draws(value: Value) -> bool:
    """Whether a model's layers are given to a function of the project that draws weights."""
    nodes = [one.definition.node for arg in value.args for one in alternatives(arg) if one.definition is not None]
    texts = [ast.unparse(node) for node in nodes]
    return value.receiver is not None and is_model(value.receiver) and bool(texts) and all(
        "init." in text or "reset_parameters()" in text for text in texts)


DRAWN = TRAINING.replace("for epoch in", "def draw(layer):\n    nn.init.zeros_(layer.bias)\nfor epoch in").replace(
    "    model.train()\n", "    model.apply(draw)\n    model.train()\n")
RULE = Rule(
    code="COD152",
    name="source_weights_drawn_again",
    severity="error",
    summary="weights are initialised in each epoch",
    why="What was learnt in the epochs before is thrown away.",
    fix="Initialise once, before the optimizer is made.",
    source="transformers issue 17877; picotron issue 32",
    check=check,
    trips=lambda: changed(DRAWN),
    passes=lambda: changed(DRAWN, ("    model.apply(draw)\n", "")),
    wrong_when="each round of the loop is a training of its own with the old optimizer's state",
)
