"""COD201: softmax stands before a loss that applies it itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives, peel
from torchstone.rules._source import at, own_losses

SOFTMAX = ("torch.softmax", "torch.nn.functional.softmax", ".softmax", "torch.nn.functional.gumbel_softmax")
LAYERS = ("torch.nn.Softmax", "torch.nn.Softmax2d")


def check(source: Source) -> Iterator[Finding]:
    """One finding per cross-entropy whose input is what a softmax gave, on every branch."""
    for play in source.plays:
        for moment, loss in own_losses(source, play, "cross_entropy"):
            made = peel(loss[2])
            if made and all(is_softmax(one) for one in made):
                what = f"cross-entropy is given what softmax gave (line {made[0].line} of {made[0].path})"
                evidence = {"softmax_line": made[0].line, "softmax_path": made[0].path}
                yield found(RULE, what, where=at(moment), evidence=evidence)


def is_softmax(value: Value) -> bool:
    """Whether a value is the very output of a softmax."""
    if value.is_call(*SOFTMAX):
        return True
    return value.is_call(".__call__") and any(one.is_call(*LAYERS) for one in alternatives(value.receiver))


SICK = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    def forward(self, x):
        return self.body(x)
net = Net()
loss_function = nn.CrossEntropyLoss()
for x, y in loader:
    loss = loss_function(net(x), y)
"""
RULE = Rule(
    code="COD201",
    name="source_softmax_before_loss",
    severity="error",
    summary="softmax before a cross-entropy that applies log-softmax itself",
    why="The loss sees numbers between 0 and 1 as logits: it cannot fall far, and gradients are small.",
    fix="Give the loss the raw logits; take softmax only for predictions.",
    source="torch 2.14 documentation, CrossEntropyLoss: input is expected to contain unnormalized logits",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace(", nn.Softmax(dim=1)", "")),
    wrong_when="not known to be wrong",
)
