"""COD133: the rate is set on the optimizer object, where nothing reads it."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per assignment to optimizer.lr of an optimizer of torch."""
    for play in source.plays:
        sick = [moment for moment in play.moments if moment.what in ("assign", "add") and moment.target is not None
                and moment.target.kind == "attr" and moment.target.name in ("lr", "learning_rate")
                and _is_of_torch(moment.target.receiver)]
        for moment in own(source, sick):
            yield found(RULE, "a rate is set on the optimizer object", where=at(moment))


def _is_of_torch(value: Value | None) -> bool:
    options = alternatives(value)
    return bool(options) and all(one.kind == "call" and one.receiver is None and one.name.startswith("torch.optim.")
                                 and not one.name.startswith("torch.optim.lr_scheduler.") for one in options)


RULE = Rule(
    code="COD133",
    name="source_rate_set_on_optimizer",
    severity="error",
    summary="optimizer.lr is set, which nothing reads",
    why="Optimizers of torch take the rate from their parameter groups: this line changes nothing.",
    fix="for group in optimizer.param_groups: group['lr'] = rate; or use a scheduler.",
    source="torch 2.14 documentation, torch.optim: per-parameter options",
    check=check,
    trips=lambda: changed(TRAINING, ("        scheduler.step()\n", "        optimizer.lr = 0.01\n")),
    passes=lambda: changed(TRAINING, ("        scheduler.step()\n",
                                      "        optimizer.param_groups[0]['lr'] = 0.01\n")),
    wrong_when="code of the project reads that attribute",
)
