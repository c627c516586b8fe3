"""COD203: nll_loss is given what is no logarithm of probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.outputs import output_of
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import loss_of
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per nll_loss whose input is what softmax, sigmoid or a bare layer gave, on every branch."""
    for play in source.plays:
        for moment in own(source, play.calls()):
            loss = loss_of(moment.value)
            if loss is None or loss[0] != "nll_loss":
                continue
            kind, made = output_of(loss[2])
            if made is not None and kind in ("softmax", "sigmoid", "logits"):
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
