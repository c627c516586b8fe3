"""COD127: a layer with parameters is made in forward()."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, in_forward, own

LAYERS = ("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
          "Embedding", "LSTM", "GRU", "RNN", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "MultiheadAttention",
          "TransformerEncoderLayer", "TransformerEncoder")  # fmt: skip


def check(source: Source) -> Iterator[Finding]:
    """One finding per layer of torch with parameters that a module's forward() makes and does not keep."""
    names = tuple(f"torch.nn.{name}" for name in LAYERS)
    for play in source.plays:
        sick = [moment for moment in play.calls(*names) if in_forward(moment) and not _is_kept(play, moment)]
        for moment in own(source, sick):
            name = moment.value.name.rpartition(".")[2]
            yield found(RULE, f"forward() makes a new {name} in each pass", where=at(moment), evidence={"layer": name})


def _is_kept(play: Play, moment: Moment) -> bool:
    """Whether the layer is stored on something, or made on one branch only (a layer made at first use)."""
    is_stored = any(one.what == "assign" and one.value is moment.value for one in play.moments)
    outside = {id(guard.node) for guard in play.moments[0].guards}
    return is_stored or any(id(guard.node) not in outside for guard in moment.guards)


SICK = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        return nn.Linear(4, 1)(x)
"""
RULE = Rule(
    code="COD127",
    name="source_layer_made_in_forward",
    severity="error",
    summary="a layer with parameters is made in forward",
    why="Each pass has new random weights, which no optimizer knows: nothing of it is ever learned or saved.",
    fix="Make the layer in __init__ and call it in forward.",
    source="torch 2.14 documentation, Modules: parameters are registered in __init__",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("return nn.Linear(4, 1)(x)", "return self.head(x)")),
    wrong_when="random features are wanted in each pass",
)
