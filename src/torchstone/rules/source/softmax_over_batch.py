"""COD210: a softmax or argmax is taken over the batch, not over the classes."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    evaluation_loops,
    model_calls,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, in_forward, own

SOFT = ("torch.softmax", "torch.nn.functional.softmax", ".softmax", "torch.log_softmax",
        "torch.nn.functional.log_softmax", ".log_softmax")
PICKS = ("torch.argmax", ".argmax", "torch.max", ".max")
# What makes the first axis something else than the batch.
TURNS = ("t", "T", "permute", "transpose", "view", "reshape", "flatten", "squeeze", "unsqueeze", "mean", "sum", "mT",
         "torch.transpose", "torch.stack", "torch.cat", "stack")


def check(source: Source) -> Iterator[Finding]:
    """One finding per softmax over axis 0 of a layer's batch, and per argmax over axis 0 compared with labels."""
    for play in source.plays:
        sick = {}
        for moment in play.calls(*SOFT):
            given = moment.value.receiver if moment.value.receiver is not None else moment.value.given("input", 0)
            if _is_first_axis(moment.value) and in_forward(moment) and _is_a_batch(given):
                sick[moment] = f"{moment.value.name.rpartition('.')[2]} is taken over the batch (dim=0)"
        for moment in _picked(play):
            sick[moment] = "the largest is looked for over the batch (dim=0), and compared with the labels"
        for moment in own(source, sick):
            yield found(RULE, sick[moment], where=at(moment))


def _is_first_axis(value: Value) -> bool:
    dim = value.given("dim", 0 if value.receiver is not None else 1) or value.given("axis")
    return dim is not None and dim.is_const(0)


def _is_a_batch(value: Value | None) -> bool:
    """Whether a value is surely the output of a Linear or Sequential layer of a batch."""
    options = alternatives(value)
    return bool(options) and all(
        one.is_call(".__call__") and bool(alternatives(one.receiver)) and all(
            layer.is_call("torch.nn.Linear", "torch.nn.Sequential", "torch.nn.LazyLinear")
            for layer in alternatives(one.receiver))
        for one in options) and not any(_is_one_row(one) for option in options for one in option.args)


def _is_one_row(value: Value) -> bool:
    """Whether a value is a row picked out of a batch."""
    return value.kind == "item" and (value.receiver is None or value.receiver.kind != "each")


def _picked(play: Play) -> list[Moment]:
    """The calls of argmax over axis 0 of what a model gave to a batch of a loader, next to labels of that batch."""
    loops = evaluation_loops(play)
    return [moment for moment in play.calls(*PICKS)
            if _is_first_axis(moment.value) and any(loop in moment.loops for loop in loops)
            and _is_output(play, moment.value.receiver or moment.value.given("input", 0))]


def _is_output(play: Play, value: Value | None) -> bool:
    called = [one for call in model_calls(play) for one in [call.value, *alternatives(call.value.result)]]
    options = alternatives(value)
    return bool(options) and all(any(one is each for each in called) for one in options)


RULE = Rule(
    code="COD210",
    name="source_softmax_over_batch",
    severity="error",
    summary="softmax or argmax over the batch",
    why="Each row then depends on the other rows of its batch; predictions are row numbers, not classes.",
    fix="Take it over the classes: dim=1, or dim=-1.",
    source="torch 2.14 documentation, softmax: dim; github.com/xmu-xiaoma666/External-Attention-pytorch issue 18",
    check=check,
    trips=lambda: changed(TRAINING, ("total += nn.functional.mse_loss(model(x), y).item()",
                                     "total += (model(x).argmax(0) == y).sum().item()")),
    passes=lambda: changed(TRAINING, ("total += nn.functional.mse_loss(model(x), y).item()",
                                      "total += (model(x).argmax(1) == y).sum().item()")),
    wrong_when="rows compete with each other on purpose",
)
