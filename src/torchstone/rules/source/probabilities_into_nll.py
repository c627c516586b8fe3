"""COD203: nll_loss is given what is no logarithm of probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, given_to_losses


def check(source: Source) -> Iterator[Finding]:
    """One finding per nll_loss whose input is what softmax, sigmoid or a bare layer gave, on every branch."""
    for moment, kind, made in given_to_losses(source, "nll_loss", "softmax", "sigmoid", "logits"):
        what = f"nll_loss is given what came out of {kind} (line {made.line} of {made.path})"
        yield found(RULE, what, where=at(moment), evidence={"made_line": made.line, "made_path": made.path})


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for x, y in loader:
    loss = F.nll_loss(F.log_softmax(net(x), dim=1), y)
"""
RULE = Rule(
    code="COD203",
    name="source_nll_without_log",
    severity="error",
    summary="nll_loss of what is no log-probability",
    why="nll_loss takes no logarithm: of raw numbers it has no floor, of probabilities it is no likelihood.",
    fix="Use cross_entropy on raw logits, or log_softmax before nll_loss.",
    source="torch 2.14 documentation, NLLLoss: the input is expected to contain log-probabilities",
    check=check,
    trips=lambda: sketch(TWIN.replace("log_softmax", "softmax")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
