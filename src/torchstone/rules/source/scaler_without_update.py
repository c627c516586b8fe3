"""COD114: a loss scaler steps and is never updated."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import optimizer_steps
from torchstone.parts.source.value import alternatives
from torchstone.parts.source.wiring import is_scaler
from torchstone.rules._sketches import SCALED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per scaler.step(optimizer) in a loop of a play that makes the scaler and never updates it."""
    for play in source.plays:
        if play.is_cut or any(is_scaler(one.value.receiver) for one in play.calls(".update")):
            continue
        sick = [step for step, _ in optimizer_steps(play) if step.loops and step.value.args
                and any(one.name.rpartition(".")[2] == "GradScaler" for one in alternatives(step.value.receiver))]
        for step in own(source, sick):
            yield found(RULE, "scaler.step(optimizer) without scaler.update()", where=at(step))


RULE = Rule(
    code="COD114",
    name="source_scaler_without_update",
    severity="error",
    summary="scaler.step without scaler.update",
    why="The scale never changes, and the scaler refuses the next step: step() has already been called.",
    fix="Call scaler.update() once after the steps of an iteration.",
    source="torch 2.14 documentation, torch.amp.GradScaler.update",
    check=check,
    trips=lambda: changed(SCALED, ("    scaler.update()\n", "")),
    passes=lambda: changed(SCALED),
    wrong_when="the scaler is switched off",
)
