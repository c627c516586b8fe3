"""COD112: a model is trained in float16 and the loss is not scaled."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, is_grad_off, loss_of, training_loops
from torchstone.parts.source.value import Value, origins
from torchstone.parts.source.wiring import autocast_type, has_engine, is_scaler, models_of
from torchstone.rules._sketches import SCALED, changed
from torchstone.rules._source import at, in_forward, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per forward pass of training in a float16 autocast, where the play knows no scaler."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        if not play.is_cut and not _knows_scaler(play):
            for moment in own(source, _half_passes(play)):
                yield found(RULE, "float16 autocast, and the loss goes into backward() unscaled", where=at(moment))


def _knows_scaler(play: Play) -> bool:
    return any(is_scaler(moment.value) or is_scaler(moment.value.receiver)
               or "scale" in moment.value.name.rpartition(".")[2].lower()
               or any(is_scaler(arg) for arg in moment.value.args) for moment in play.moments if moment.what == "call")


def _half_passes(play: Play) -> list[Moment]:
    """The forward passes in training loops in a float16 autocast from which a loss comes, the first of each loop."""
    wanted = [moment for moment, _ in models_of(play) if not is_grad_off(moment) and loss_of(moment.value) is None
              and any(autocast_type(one) == "float16" for one in moment.withs)]
    roots = [value for _, loss in backwards(play) if loss is not None for value in _plain(loss)]
    used = {id(one) for root in roots for one in origins(root)}
    loops = training_loops(play)
    return [moment for moment in wanted if any(loop in moment.loops for loop in loops) and not in_forward(moment)
            and (id(moment.value) in used or (moment.value.result is not None and id(moment.value.result) in used))]


def _plain(loss: Value) -> list[Value]:
    """The loss unless it is scaled by something: a product may be a scale of one's own."""
    return [] if loss.kind == "op" and loss.name == "Mult" else [loss]


RULE = Rule(
    code="COD112",
    name="source_half_without_scaler",
    severity="warning",
    summary="training in float16 without a loss scaler",
    why="Gradients below 6e-8 become 0 in float16: parts of the model stop learning.",
    fix="Use torch.amp.GradScaler, or autocast to bfloat16, which needs none.",
    source="torch 2.14 documentation, Automatic mixed precision: gradient scaling",
    check=check,
    trips=lambda: changed(SCALED, ('scaler = torch.amp.GradScaler("cuda")\n', ""),
                          ("scaler.scale(loss).backward()", "loss.backward()"),
                          ("    scaler.unscale_(optimizer)\n", ""),
                          ("scaler.step(optimizer)\n    scaler.update()", "optimizer.step()")),
    passes=lambda: changed(SCALED),
    wrong_when="the loss is scaled by hand where the code was not followed",
)
