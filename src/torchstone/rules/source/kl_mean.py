"""COD212: kl_div divides by the number of classes too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import backwards, losses
from torchstone.parts.source.value import origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, edit, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per kl_div of means that a backward pass goes through."""
    for play in source.plays:
        used = {id(one) for _, loss in backwards(play) for one in origins(loss)}
        sick = {}
        for moment, loss in losses(play):
            if loss[0] != "kl_div" or id(moment.value) not in used:
                continue
            reduction = loss[1].given("reduction")
            is_mean = reduction is None or reduction.is_const("mean")
            if is_mean and not {"size_average", "reduce", "**"} & set(loss[1].keywords):
                sick[moment] = reduction
        for moment in own(source, sick):
            given = sick[moment]
            edits = [edit(given.node, '"batchmean"')] if given is not None and given.node is not None \
                and given.path == source.path and isinstance(given.node, ast.Constant) else []
            yield found(RULE, "kl_div takes the mean over all elements, not over the batch", where=at(moment),
                        evidence={"edits": edits} if edits else {})


RULE = Rule(
    code="COD212",
    name="source_kl_mean",
    severity="warning",
    summary="kl_div with reduction='mean'",
    why="The sum over classes is divided by their number: the term is that many times smaller than the divergence.",
    fix="Give reduction='batchmean'.",
    source="torch 2.14 documentation, kl_div: reduction='mean' doesn't return the true KL divergence value",
    check=check,
    trips=lambda: changed(TRAINING, ("nn.functional.mse_loss(model(x), y)\n        loss.b",
                                     "nn.functional.kl_div(model(x).log_softmax(1), y)\n        loss.b")),
    passes=lambda: changed(TRAINING, ("nn.functional.mse_loss(model(x), y)\n        loss.b",
                                      "nn.functional.kl_div(model(x).log_softmax(1), y, reduction='batchmean')\n"
                                      "        loss.b")),
    wrong_when="the weight of the term was chosen for the mean",
)
