"""COD109: evaluation records gradients."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import is_grad_off
from torchstone.parts.source.wiring import validations
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per loop of evaluation outside no_grad and inference_mode, of a model trained in the same play."""
    for play in source.plays:
        if play.is_cut:
            continue
        sick = [moment for moment, _ in validations(play) if not is_grad_off(moment) and not _may_be_off(play, moment)]
        for moment in own(source, sick):
            yield found(RULE, "the model is evaluated while gradients are recorded", where=at(moment))


def _may_be_off(play: Play, moment: Moment) -> bool:
    """Whether gradients are switched off by a call, or wanted: adversarial examples, sensitivities."""
    switched = play.calls("torch.set_grad_enabled", "torch.autograd.set_grad_enabled", "torch.autograd.grad",
                          ".requires_grad_", "torch.autograd.functional.jacobian", "torch.func.grad", ".grad_mode")
    return any(one.index < moment.index or moment.loops[-1] in one.loops for one in switched) or any(
        "grad" in one.name.lower() or "inference" in one.name.lower() for one in moment.withs)


RULE = Rule(
    code="COD109",
    name="source_evaluation_builds_graphs",
    severity="warning",
    summary="evaluation without no_grad or inference_mode",
    why="Every forward pass keeps its activations for a backward pass that never comes: memory and time.",
    fix="Evaluate within torch.no_grad() or torch.inference_mode().",
    source="torch 2.14 documentation, Autograd mechanics: locally disabling gradient computation",
    check=check,
    trips=lambda: changed(TRAINING, ("    with torch.no_grad():\n        for x, y in val_loader:\n            total",
                                     "    for x, y in val_loader:\n        total")),
    passes=lambda: changed(TRAINING),
    wrong_when="gradients of the evaluation are used where the code was not followed",
)
