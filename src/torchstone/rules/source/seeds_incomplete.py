"""COD412: a training draws by chance and sets no seed."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizers,
    training_loops,
)
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

SEEDS = ("manual_seed", "seed_everything", "set_seed", "fix_seed", "seed_all", "set_random_seed", "setup_seed")


def check(source: Source) -> Iterator[Finding]:
    """One finding per script that makes and trains a model and says nothing of seeds, or seeds numpy alone."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        is_seeded = any(moment.value.name.rpartition(".")[2] in SEEDS and (
            moment.value.receiver is None or moment.value.receiver.kind in ("name", "unknown"))
            for moment in play.calls())
        if play.entry is not None or is_seeded or not training_loops(play):
            continue
        sick = [moment for moment in play.calls() if moment.value.receiver is None
                and any(moment.value is one for one in optimizers(play))]
        for moment in own(source, sick[:1]):
            yield found(RULE, "a model is trained and no seed is set for torch", where=at(moment))
            return


RULE = Rule(
    code="COD412",
    name="source_seeds_incomplete",
    severity="advice",
    summary="no seed",
    why="Weights, order and dropout differ from run to run: a change in the score cannot be told from chance.",
    fix="Call torch.manual_seed(seed) first, and keep the seed beside the results; seed numpy and random where used.",
    source="torch 2.14 documentation, Reproducibility",
    check=check,
    trips=lambda: changed(TRAINING),
    passes=lambda: changed(TRAINING, ("model = ", "torch.manual_seed(0)\nmodel = ")),
    wrong_when="the seed is set by code that calls this script",
)
