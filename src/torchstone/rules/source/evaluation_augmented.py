"""COD310: held-out data are changed at random, as training data are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import dataset_of, held_out_loaders
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value, origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at

RANDOM = re.compile(r"^(Random|AutoAugment|RandAugment|TrivialAugment|AugMix|ColorJitter|GaussianBlur|CutMix|MixUp)")
FIXED = ("RandomApply", "RandomCrop5", "GaussianBlur")
WORDS = ("augment", "augmentation", "augmented", "is_augmented", "use_augmentation", "do_augment")


def check(source: Source) -> Iterator[Finding]:
    """One finding per evaluated dataset made with augment=True, or with random transforms of torchvision."""
    seen: set[int] = set()
    for play in source.plays:
        for loader in held_out_loaders(play):
            for made in origins(dataset_of(loader), _goes_on):
                cause = _cause(made)
                if cause and made.path == source.path and made.line not in seen:
                    seen.add(made.line)
                    yield found(RULE, f"data that a model is only evaluated on are augmented: {cause}", where=at(made))


def _goes_on(value: Value) -> bool:
    return value.kind != "call" or value.name.endswith("Subset")


def _cause(made: Value) -> str:
    if made.kind != "call" or (made.receiver is not None and made.name != "__call__"):
        return ""
    for name in WORDS:
        if name in made.keywords and made.keywords[name].is_const(True):
            return f"{name}=True"
    transform = made.keywords.get("transform")
    for one in origins(transform, lambda value: value.kind == "sequence" or value.name.endswith(".Compose")):
        tail = one.name.rpartition(".")[2]
        is_made = one.kind == "call" and one.name.startswith("torchvision.transforms")
        if is_made and RANDOM.match(tail) and tail not in FIXED:
            return tail
    return ""


RULE = Rule(
    code="COD310",
    name="source_evaluation_augmented",
    severity="warning",
    summary="held-out data are augmented at random",
    why="The score is of changed data and another one in each pass: epochs cannot be compared.",
    fix="Give the held-out dataset transforms without chance.",
    source="torchvision 0.29 documentation, Transforms: training and evaluation presets",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(Pictures('val', augment=True))")),
    passes=lambda: changed(TRAINING, ("DataLoader(train_set,", "DataLoader(Pictures('train', augment=True),")),
    wrong_when="the score is averaged over several augmented passes on purpose",
)
