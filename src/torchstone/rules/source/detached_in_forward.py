"""COD142: a module cuts the graph behind its own layers in forward()."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    backwards,
    is_grad_off,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    is_cut,
    layer_names,
)
from torchstone.rules._source import at, in_forward, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per detach() or .data in forward() of what layers of the module gave, where all goes on cut."""
    for play in source.plays:
        graphs = {id(one) for _, loss in backwards(play) for one in origins(loss)}
        whole = {id(one) for _, loss in backwards(play) for one in origins(loss, lambda value: not is_cut(value))}
        sick = [moment for moment in play.calls(".detach") if in_forward(moment) and not is_grad_off(moment)
                and id(moment.value) in graphs and not moment.guards and _cuts_layers(moment, whole)]
        for moment in own(source, sick):
            yield found(RULE, "detach() in forward() cuts off the layers before it", where=at(moment))
        for one in _data_read(source, play, whole):
            yield found(RULE, ".data in forward() cuts off the layers before it", where=at(one))


def _data_read(source: Source, play: Play, whole: set[int]) -> list[Value]:
    """Where forward() reads .data of what layers with parameters gave, which reaches the loss on no other way."""
    spans = [(one.methods["forward"].node.lineno, one.methods["forward"].node.end_lineno or 0)
             for one in source.classes if "forward" in one.methods]
    found_: dict[int, Value] = {}
    for _, loss in backwards(play):
        for one in origins(loss):
            is_inside = one.path == source.path and any(low <= one.line <= high for low, high in spans)
            if one.kind == "attr" and one.name == "data" and is_inside and _comes_from_layers(one.receiver, whole):
                found_.setdefault(one.line, one)
    return list(found_.values())


def _cuts_layers(moment: Moment, whole: set[int]) -> bool:
    """Whether what is cut is the output of layers with parameters, and reaches the loss on no other way."""
    return _comes_from_layers(moment.value.receiver, whole)


def _comes_from_layers(value: Value | None, whole: set[int]) -> bool:
    calls = [one for each in alternatives(value) for one in origins(each) if one.is_call(".__call__")]
    names = {name for one in calls for name in layer_names(one.receiver)[0]}
    has_parameters = any(word in name for name in names for word in ("Linear", "Conv", "LSTM", "GRU", "Embedding"))
    return has_parameters and not any(id(one) in whole for one in calls)


NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
    def forward(self, x):
        return self.head(self.body(x).detach())
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
"""
RULE = Rule(
    code="COD142",
    name="source_detached_in_forward",
    severity="error",
    summary="detach() in forward() behind layers that are to learn",
    why="No gradient reaches the layers before the cut: they stay as they were first drawn.",
    fix="Leave detach() out; freeze layers that are not to learn by requires_grad_(False).",
    source="torch 2.14 documentation, Tensor.detach: the result will never require gradient",
    check=check,
    trips=lambda: sketch(NET),
    passes=lambda: sketch(NET.replace(".detach()", "")),
    wrong_when="those layers are trained by another loss, or are frozen on purpose",
)
