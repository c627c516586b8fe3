"""COD113: a loss scaler is used with bfloat16."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import autocast_type, models_of, scaled_backwards
from torchstone.rules._sketches import SCALED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per scaled backward pass of a loop whose forward passes are all in a bfloat16 autocast."""
    for play in source.plays:
        sick = [moment for moment in scaled_backwards(play) if moment.loops and _is_bfloat16(play, moment)
                and any(_is_on(one) for one in alternatives(_scaler(moment)))]
        for moment in own(source, sick):
            yield found(RULE, "the loss is scaled although the forward pass computes in bfloat16", where=at(moment))


def _scaler(moment: Moment) -> Value | None:
    scaled = next((one for one in alternatives(moment.value.receiver) if one.is_call(".scale")), None)
    return scaled.receiver if scaled is not None else None


def _is_on(scaler: Value) -> bool:
    """Whether a scaler is made here and never switched off."""
    if scaler.kind != "call" or scaler.name.rpartition(".")[2] != "GradScaler":
        return False
    enabled = scaler.given("enabled")
    return enabled is None or enabled.is_const(True)


def _is_bfloat16(play: Play, moment: Moment) -> bool:
    types = {autocast_type(one) for call, _ in models_of(play) if moment.loops[-1] in call.loops
             for one in call.withs if one.name.rpartition(".")[2] == "autocast"}
    return types == {"bfloat16"}


RULE = Rule(
    code="COD113",
    name="source_scaler_with_bfloat16",
    severity="warning",
    summary="a loss scaler with bfloat16",
    why="bfloat16 has the range of float32: scaling protects from nothing, and skips steps when the scale grows.",
    fix="Leave the scaler out, or make it with enabled=False.",
    source="torch 2.14 documentation, Automatic mixed precision: gradient scaling is for float16",
    check=check,
    trips=lambda: changed(SCALED, ("torch.float16", "torch.bfloat16")),
    passes=lambda: changed(SCALED),
    wrong_when="not known to be wrong",
)
