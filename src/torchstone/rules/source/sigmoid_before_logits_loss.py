"""COD202: sigmoid stands before a loss that applies it itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, given_to_losses


def check(source: Source) -> Iterator[Finding]:
    """One finding per loss with logits whose input is what a sigmoid or softmax gave, on every branch."""
    for moment, kind, made in given_to_losses(source, "bce_with_logits", "sigmoid", "softmax"):
        what = (
            f"a loss that applies a sigmoid is given what came out of {kind} "
            f"(line {made.line} of {made.path})"
        )
        yield found(RULE, what, where=at(moment), evidence={"made_line": made.line, "made_path": made.path})


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for x, y in loader:
    loss = F.binary_cross_entropy_with_logits(net(x), y)
"""
RULE = Rule(
    code="COD202",
    name="source_sigmoid_before_logits_loss",
    severity="error",
    summary="sigmoid before a loss that applies it itself",
    why="The loss sees numbers between 0 and 1 as logits: it cannot fall below 0.31 for a label of 1.",
    fix="Give the loss the raw logits; take sigmoid only for predictions.",
    source="torch 2.14 documentation, BCEWithLogitsLoss: combines a sigmoid layer and the BCELoss",
    check=check,
    trips=lambda: sketch(TWIN.replace("(net(x), y)", "(torch.sigmoid(net(x)), y)")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
