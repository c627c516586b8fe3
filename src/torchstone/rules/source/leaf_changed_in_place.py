"""COD147: a tensor that requires gradients is changed in place."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    is_grad_off,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per add_(), mul_() … outside no_grad of a tensor made with requires_grad=True, or of a Parameter."""
    names = (".add_", ".sub_", ".mul_", ".div_", ".copy_", ".fill_", ".zero_", ".clamp_", ".normal_", ".uniform_")
    for play in source.plays:
        sick = [moment for moment in play.calls(*names) if not is_grad_off(moment) and _is_leaf(moment.value.receiver)]
        for moment in own(source, sick):
            yield found(RULE, f"{moment.value.name}() changes a tensor that requires gradients", where=at(moment))


def _is_leaf(value: Value | None) -> bool:
    options = alternatives(value)
    return bool(options) and all(
        one.kind == "call" and one.receiver is None and one.name.startswith("torch.") and (
            (one.name == "torch.nn.Parameter" and not one.keywords)
            or ("requires_grad" in one.keywords and one.keywords["requires_grad"].is_const(True))) for one in options)


RULE = Rule(
    code="COD147",
    name="source_leaf_changed_in_place",
    severity="error",
    summary="a leaf that requires gradients is changed in place",
    why="torch refuses: a leaf Variable that requires grad is being used in an in-place operation.",
    fix="Do it within torch.no_grad().",
    source="torch 2.14 documentation, Autograd mechanics: in-place operations",
    check=check,
    trips=lambda: sketch("import torch\nw = torch.zeros(3, requires_grad=True)\nw.sub_(0.1)\n"),
    passes=lambda: sketch("import torch\nw = torch.zeros(3, requires_grad=True)\n"
                          "with torch.no_grad():\n    w.sub_(0.1)\n"),
    wrong_when="gradients are switched off where the code was not followed",
)
