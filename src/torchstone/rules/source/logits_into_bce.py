"""COD204: binary cross-entropy of probabilities is given raw numbers."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, given_to_losses


def check(source: Source) -> Iterator[Finding]:
    """One finding per BCELoss whose input is what a bare layer gave, on every branch."""
    for moment, _, made in given_to_losses(source, "binary_cross_entropy", "logits"):
        what = (
            "binary cross-entropy is given what came out of a layer without sigmoid "
            f"(line {made.line} of {made.path})"
        )
        yield found(RULE, what, where=at(moment), evidence={"made_line": made.line, "made_path": made.path})


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for x, y in loader:
    loss = F.binary_cross_entropy(torch.sigmoid(net(x)), y)
"""
RULE = Rule(
    code="COD204",
    name="source_logits_for_probabilities",
    severity="error",
    summary="raw logits into a loss of probabilities",
    why="BCELoss takes numbers between 0 and 1 and raises an error, or gives no likelihood, for others.",
    fix="Use BCEWithLogitsLoss, or a sigmoid before BCELoss.",
    source="torch 2.14 documentation, BCELoss: the inputs should be between 0 and 1",
    check=check,
    trips=lambda: sketch(TWIN.replace("torch.sigmoid(net(x))", "net(x)")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
