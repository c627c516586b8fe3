"""COD119: a layer is replaced after the optimizer was given the old one's parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import optimizers, parameters_of, same
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per layer set on a model whose parameters an optimizer already holds."""
    for play in source.plays:
        sick = {moment: optimizer for optimizer in optimizers(play) for moment in play.moments
                if moment.what == "assign" and _is_replaced(play, moment, optimizer)}
        for moment in own(source, sick):
            what = f"a layer is set on the model after the optimizer took its parameters (line {sick[moment].line})"
            yield found(RULE, what, where=at(moment), evidence={"optimizer_line": sick[moment].line})


def _is_replaced(play: Play, moment: Moment, optimizer: Value) -> bool:
    """Whether a moment sets a new layer on a model of the optimizer, after it was made, with no other made later."""
    made = next((one for one in play.calls() if one.value is optimizer), None)
    new = moment.value
    is_layer = new.kind == "call" and new.receiver is None and is_model(new) and new.name.startswith("torch.nn.")
    if made is None or moment.index < made.index or not is_layer or moment.target is None:
        return False
    held = parameters_of(optimizer)
    if not any(same(owner, models) for owner in _owners(moment.target) for models in held) and not any(
            _is_old_field(moment.target, one) for models in held for one in alternatives(models)):
        return False
    later = [one for one in optimizers(play) if one is not optimizer and any(
        call.value is one and call.index > moment.index for call in play.calls())]
    return not later and not any(same(one.value.receiver, optimizer) for one in play.calls(".add_param_group"))


def _is_old_field(target: Value, held: Value) -> bool:
    """Whether a layer was set in __init__ as the very field of a model that is now set anew."""
    classes = [one.definition.node for one in alternatives(target.receiver) if one.definition is not None]
    return any(isinstance(node, ast.Assign) and node.value is held.node and any(
        isinstance(one, ast.Attribute) and one.attr == target.name for one in node.targets)
        for owner in classes for node in ast.walk(owner))


def _owners(target: Value) -> list[Value]:
    """What a layer is set on, and what that is part of."""
    found, one = [], target.receiver
    while one is not None:
        found.append(one)
        one = one.receiver if one.kind in ("attr", "item") else None
    return found


RULE = Rule(
    code="COD119",
    name="source_layer_replaced_after_optimizer",
    severity="error",
    summary="a layer is replaced after the optimizer was made",
    why="The optimizer steps the parameters of the old layer; those of the new one are never trained.",
    fix="Change the model first, then make the optimizer.",
    source="torch 2.14 documentation, torch.optim: constructing an optimizer",
    check=check,
    trips=lambda: changed(TRAINING, ("for epoch in", "model.head = nn.Linear(8, 2)\nfor epoch in")),
    passes=lambda: changed(TRAINING, ("optimizer = ", "model.head = nn.Linear(8, 2)\noptimizer = ")),
    wrong_when="the new layer is to stay as it is",
)
