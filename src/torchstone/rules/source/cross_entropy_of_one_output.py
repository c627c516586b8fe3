"""COD205: cross-entropy over one class."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.outputs import width_of
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, own_losses


def check(source: Source) -> Iterator[Finding]:
    """One finding per cross-entropy over the single output of a Linear."""
    for play in source.plays:
        for moment, loss in own_losses(source, play, "cross_entropy"):
            if width_of(loss[2]) == 1:
                yield found(RULE, "cross-entropy is taken over the one output of a Linear", where=at(moment))


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
"""
RULE = Rule(
    code="COD205",
    name="source_cross_entropy_of_one_output",
    severity="error",
    summary="cross-entropy over a single output",
    why="The softmax of one number is 1: the loss is 0 for every example and its gradient is zero.",
    fix="Use binary_cross_entropy_with_logits, or give the last layer one output per class.",
    source="stackoverflow.com/q/50306988; torch 2.14 documentation, CrossEntropyLoss",
    check=check,
    trips=lambda: sketch(TWIN.replace("nn.Linear(8, 3)", "nn.Linear(8, 1)")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
