"""COD206: kl_div is given probabilities where it wants their logarithms."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, given_to_losses


def check(source: Source) -> Iterator[Finding]:
    """One finding per kl_div whose input is what softmax, sigmoid or a bare layer gave, on every branch."""
    for moment, kind, made in given_to_losses(source, "kl_div", "softmax", "sigmoid", "logits"):
        what = f"kl_div is given what came out of {kind} (line {made.line} of {made.path})"
        yield found(RULE, what, where=at(moment), evidence={"made_line": made.line, "made_path": made.path})


TWIN = """
import torch
from torch import nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
for x, y in loader:
    loss = F.kl_div(F.log_softmax(net(x), dim=1), y, reduction='batchmean')
"""
RULE = Rule(
    code="COD206",
    name="source_kl_without_log",
    severity="error",
    summary="kl_div of what is no log-probability",
    why="kl_div takes its input as logarithms: of probabilities it is no divergence and may be negative.",
    fix="Give log_softmax as input; the target stays probabilities unless log_target=True.",
    source="torch 2.14 documentation, KLDivLoss: input is expected in log-space",
    check=check,
    trips=lambda: sketch(TWIN.replace("log_softmax", "softmax")),
    passes=lambda: sketch(TWIN),
    wrong_when="not known to be wrong",
)
