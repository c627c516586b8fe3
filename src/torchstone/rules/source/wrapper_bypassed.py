"""COD503: the model inside of DistributedDataParallel is called in training, not the wrapper."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
    is_grad_off,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per call of wrapper.module(...) in a training loop."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        loops = training_loops(play)
        graphs = {id(one) for _, loss in backwards(play) for one in origins(loss)}
        calls = [moment for moment in play.calls(".__call__", ".forward", ".module")
                 if any(loop in moment.loops for loop in loops) and not is_grad_off(moment)]
        is_called = any(moment.value.name != "module" and _is_wrapper(moment.value.receiver) for moment in calls)
        sick = [moment for moment in calls if _is_inner(moment.value) and not is_called
                and {id(moment.value), id(moment.value.result)} & graphs]
        for moment in own(source, sick):
            yield found(RULE, "the model inside of DistributedDataParallel is called, not the wrapper",
                        where=at(moment))


def _is_wrapper(value: Value | None) -> bool:
    return any(one.kind == "call" and one.name.rpartition(".")[2] in ("DistributedDataParallel", "DDP")
               for one in alternatives(value))


def _is_inner(value: Value) -> bool:
    """Whether a call is wrapper.module(...), or wrapper.module.forward(...), of a wrapper that was seen being made."""
    if value.name == "module":
        return _is_wrapper(value.receiver)
    return any(one.kind == "attr" and one.name == "module" and _is_wrapper(one.receiver)
               for one in alternatives(value.receiver))


RULE = Rule(
    code="COD503",
    name="source_wrapper_bypassed",
    severity="error",
    summary="model.module(x) in training under DistributedDataParallel",
    why="The wrapper prepares the exchange of gradients in its forward(): without it each process trains on its own.",
    fix="Call the wrapper: model(x). Use model.module only to save weights or to evaluate.",
    source="torch 2.14 documentation, DistributedDataParallel: forward and backward; notes on its design",
    check=check,
    trips=lambda: changed(DISTRIBUTED, ("mse_loss(model(x)", "mse_loss(model.module(x)")),
    passes=lambda: changed(DISTRIBUTED),
    wrong_when="gradients are exchanged by hand",
)
