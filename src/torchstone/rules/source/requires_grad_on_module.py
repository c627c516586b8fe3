"""COD122: requires_grad is set on a module, where it means nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._source import at, own

WALKS = (".children", ".modules", ".named_children", ".named_modules")


def check(source: Source) -> Iterator[Finding]:
    """One finding per `module.requires_grad = …` of what is surely a module."""
    for play in source.plays:
        for moment in own(source, [moment for moment in play.moments if _is_on_module(moment)]):
            yield found(RULE, "requires_grad is set on a module, which has no such setting", where=at(moment))


def _is_on_module(moment: Moment) -> bool:
    target = moment.target
    if moment.what != "assign" or target is None or target.kind != "attr" or target.name != "requires_grad":
        return False
    owners = alternatives(target.receiver)
    return moment.value.is_const(True, False) and bool(owners) and all(_is_module(one) for one in owners)


def _is_module(value: Value) -> bool:
    """Whether a value is a module: made as one here, or met on a walk over modules."""
    if value.kind == "each":
        return value.receiver is not None and value.receiver.is_call(".children", ".modules")
    if value.kind == "attr" and value.receiver is not None:
        return _is_whole_model(value.receiver) and value.name in ("backbone", "encoder", "body", "features", "stem",
                                                                  "layer1", "layer2", "layer3", "layer4")
    return _is_whole_model(value) and not value.name.endswith("Parameter")


def _is_whole_model(value: Value) -> bool:
    is_made = value.kind == "call" and (value.receiver is None or value.name == "from_pretrained")
    return is_made and is_model(value) and (
        value.definition is not None or value.name.startswith(("torch.nn.", "torchvision.models.", "timm.")))


SICK = """
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
for layer in model.children():
    layer.requires_grad = False
"""
RULE = Rule(
    code="COD122",
    name="source_requires_grad_on_module",
    severity="error",
    summary="requires_grad is set on a module",
    why="Only parameters have the setting: on a module it is an attribute that nothing reads, and nothing is frozen.",
    fix="Call module.requires_grad_(False), which sets it on each parameter.",
    source="torch 2.14 documentation, Module.requires_grad_",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("requires_grad = False", "requires_grad_(False)")),
    wrong_when="the class of the module defines a property of that name",
)
