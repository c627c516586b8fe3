"""COD314: the loader that a model is evaluated on shuffles."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import held_out_loaders, is_on
from torchstone.parts.source.read import Source
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per file with a DataLoader that a play only evaluates on and that has shuffle=True."""
    for play in source.plays:
        for loader in held_out_loaders(play):
            if loader.path == source.path and is_on(loader, "shuffle"):
                yield found(RULE, "a loader that is only evaluated on has shuffle=True", where=at(loader))
                return


RULE = Rule(
    code="COD314",
    name="source_evaluation_shuffled",
    severity="advice",
    summary="held-out data is shuffled",
    why="Predictions no longer stand in the order of the data, and the last, smaller batch is another one each time.",
    fix="Leave shuffle out where a model is evaluated.",
    source="torch 2.14 documentation, DataLoader: shuffle",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, shuffle=True)")),
    passes=lambda: changed(TRAINING),
    wrong_when="a few batches are drawn at random on purpose, for a picture or a quick look",
    confidence="likely",
)
