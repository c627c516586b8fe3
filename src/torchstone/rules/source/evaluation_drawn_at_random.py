"""COD304: the rows that a model is evaluated on are drawn with replacement."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import held_out_loaders
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at

SAMPLERS = "torch.utils.data."


def check(source: Source) -> Iterator[Finding]:
    """One finding per DataLoader that a play only evaluates on and whose sampler draws with replacement."""
    seen: set[int] = set()
    for play in source.plays:
        for loader in held_out_loaders(play):
            sampler = loader.given("sampler", 3)
            if sampler is None or loader.path != source.path or loader.line in seen:
                continue
            if all(_repeats(one) for one in alternatives(sampler)):
                seen.add(loader.line)
                yield found(RULE, "the evaluation rows are drawn with replacement", where=at(loader))


def _repeats(sampler: Value) -> bool:
    if sampler.kind != "call" or not sampler.name.startswith(SAMPLERS):
        return False
    replacement = sampler.given("replacement", 1 if sampler.name.endswith("RandomSampler") else 2)
    if sampler.name.endswith(".WeightedRandomSampler"):
        return replacement is None or replacement.is_const(True)
    return sampler.name.endswith(".RandomSampler") and replacement is not None and replacement.is_const(True)


RULE = Rule(
    code="COD304",
    name="source_evaluation_drawn_at_random",
    severity="warning",
    summary="evaluation rows are drawn with replacement",
    why="Some rows count twice and others never: the score changes from pass to pass and is not that of the set.",
    fix="Go through the held-out rows in order, without a sampler.",
    source="torch 2.14 documentation, RandomSampler and WeightedRandomSampler: replacement",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, sampler=torch.utils.data."
                                     "RandomSampler(val_set, replacement=True))")),
    passes=lambda: changed(TRAINING, ("shuffle=True", "sampler=torch.utils.data.RandomSampler(a, replacement=True)")),
    wrong_when="a bootstrap of the score is wanted",
)
