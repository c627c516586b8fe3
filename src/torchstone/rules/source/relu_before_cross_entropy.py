"""COD207: the logits of a cross-entropy went through a ReLU."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.outputs import output_of
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import losses
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per cross-entropy, or binary one of logits, whose input is what a ReLU gave, on every branch."""
    for play in source.plays:
        sick = {}
        for moment, loss in losses(play):
            kind, made = output_of(loss[2])
            if made is not None and kind == "relu" and loss[0] in ("cross_entropy", "bce_with_logits"):
                sick[moment] = (loss[0], made)
        for moment in own(source, sick):
            name, made = sick[moment]
            what = f"{name} is given what a ReLU gave (line {made.line} of {made.path})"
            yield found(RULE, what, where=at(moment), evidence={"made_line": made.line, "made_path": made.path})


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
"""
RULE = Rule(
    code="COD207",
    name="source_relu_before_loss",
    severity="warning",
    summary="ReLU on the logits of a cross-entropy",
    why="No logit can be below 0: classes cannot be ruled out, and outputs that are 0 learn nothing.",
    fix="End the model in the last Linear.",
    source="stackoverflow.com/q/47352366; torch 2.14 documentation, CrossEntropyLoss: unnormalized logits",
    check=check,
    trips=lambda: sketch(TWIN.replace("F.cross_entropy(net(x), y)", "F.cross_entropy(F.relu(net(x)), y)")),
    passes=lambda: sketch(TWIN),
    wrong_when="the ReLU is meant, as in some energy models",
)
