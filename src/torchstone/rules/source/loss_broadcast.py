"""COD213: predictions of shape (N, 1) meet targets of shape (N,) in a loss, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.shapes import axes_of
from torchstone.parts.source.training import losses
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def check(source: Source) -> Iterator[Finding]:
    """One finding per elementwise loss whose input and target surely differ by an axis of length 1."""
    for play in source.plays:
        sick = {}
        for moment, loss in losses(play):
            if loss[0] not in ELEMENTWISE:
                continue
            given, target = axes_of(loss[2]), axes_of(loss[3])
            if given is not None and target is not None and {given, target} == {1, 2}:
                sick[moment] = "(N, 1) and (N,)" if given == 2 else "(N,) and (N, 1)"
        for moment in own(source, sick):
            yield found(RULE, f"input and target of the loss have the shapes {sick[moment]}", where=at(moment))


RULE = Rule(
    code="COD213",
    name="source_loss_broadcast",
    severity="error",
    summary="shapes (N, 1) and (N,) in one loss",
    why="Every prediction is compared with every target: the model learns the mean of the targets.",
    fix="Give both one shape: prediction.squeeze(1), or target.unsqueeze(1).",
    source="torch 2.14, mse_loss: warning on a target size that is different to the input size",
    check=check,
    trips=lambda: changed(TRAINING, ("mse_loss(model(x), y)\n        loss.b",
                                     "mse_loss(model(x), y.view(-1))\n        loss.b")),
    passes=lambda: changed(TRAINING, ("mse_loss(model(x), y)\n        loss.b",
                                      "mse_loss(model(x).squeeze(1), y.view(-1))\n        loss.b")),
    wrong_when="the input has more axes than its layers tell",
)
