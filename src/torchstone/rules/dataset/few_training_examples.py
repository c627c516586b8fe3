"""DAT204: classes with few training examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import class_counts, named, toy

NUM = 10


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding for all classes with 1 to `NUM` - 1 training examples."""
    if not dataset.classes:
        return
    counts = class_counts(dataset, dataset.rows("train"))
    few = np.flatnonzero((counts > 0) & (counts < NUM))
    if len(few) == 0:
        return
    few = few[np.argsort(counts[few], kind="stable")]
    names = [str(dataset.classes[index]) for index in few.tolist()]
    yield found(
        RULE,
        f"{len(few):,} of {len(dataset.classes):,} classes have fewer than {NUM} training examples: {named(names)}; "
        f"the fewest: {counts[few[0]]}",
        where=Where(field=dataset.target_name),
        evidence={"classes": dict(zip(names[:20], counts[few[:20]].tolist(), strict=True)), "num": len(few),
                  "threshold": NUM},
    )


RULE = Rule(
    code="DAT204",
    name="few_training_examples",
    severity="warning",
    summary="a class has only a handful of training examples",
    why="The model will hardly say this class, and no figure about it means much.",
    fix="Collect more of it, join it with a neighbour, or leave it out and say so.",
    source="starting point, tune on your data: no count is known that suffices for every task",
    check=check,
    trips=lambda: toy([f"text {i}" for i in range(30)], ["cat"] * 27 + ["dog"] * 3),
    passes=lambda: toy([f"text {i}" for i in range(30)], ["cat"] * 15 + ["dog"] * 15),
    wrong_when="a pretrained model is adapted with few examples on purpose",
    threshold="10 examples (our choice; the smallest class of banking77 has 35, and is learnt)",
)
