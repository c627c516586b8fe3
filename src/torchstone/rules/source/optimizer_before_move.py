"""COD153: a model is moved to a device after its optimizer was made."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import optimizers, parameters_of, same
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per file: model.cuda() or model.to(device) behind the optimizer over its parameters."""
    for play in source.plays:
        made = {id(moment.value): moment.index for moment in play.calls()}
        held = [(made[id(one)], model) for one in optimizers(play) if id(one) in made for model in parameters_of(one)]
        moves = [moment for moment in play.calls(".cuda", ".to") if any(
            moment.index > index and same(moment.value.receiver, model) for index, model in held)]
        for moment in own(source, [one for one in moves if not one.loops]):
            yield found(RULE, f"the model is moved by .{moment.value.name}() after the optimizer took its parameters",
                        where=at(moment))
            return


RULE = Rule(
    code="COD153",
    name="source_optimizer_before_move",
    severity="advice",
    summary="the model is moved to a device after the optimizer was made",
    why="Torch keeps the parameters' identity where it can; on other backends, with fused optimizers or with state "
        "that was loaded before, the optimizer holds tensors of the old device.",
    fix="Move the model first, then make the optimizer.",
    source="torch 2.14 documentation, torch.optim: move a model before constructing optimizers for it",
    check=check,
    trips=lambda: changed(TRAINING, ("lr=0.1)\n", "lr=0.1)\nmodel.cuda()\n")),
    passes=lambda: changed(TRAINING, ("optimizer = torch", "model.cuda()\noptimizer = torch")),
    wrong_when="the model is already there, or only its dtype changes",
    confidence="likely",
)
