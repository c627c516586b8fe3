"""DAT205: classes that a part of the split lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import SPLITS, Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import class_counts, named, toy


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding for each part that has examples, but none of some class; an error for train."""
    if not dataset.classes:
        return
    for part in SPLITS:
        rows = dataset.rows(part)
        absent = [str(dataset.classes[index]) for index in np.flatnonzero(class_counts(dataset, rows) == 0).tolist()]
        if not absent or len(rows) == 0:
            continue
        yield found(
            RULE,
            f"{len(absent):,} of {len(dataset.classes):,} classes have no {part} example: {named(absent)}",
            where=Where(field=dataset.target_name),
            severity="error" if part == "train" else None,
            evidence={"part": part, "num": len(absent), "classes": absent[:20]},
        )


RULE = Rule(
    code="DAT205",
    name="absent_class",
    severity="warning",
    summary="a part of the split has no example of a class",
    why="A class without training examples is never learnt; one without validation or test examples is never judged.",
    fix="Collect more examples of it, or change the split; a class needs 4 different examples to be in all parts.",
    source="a yes-or-no fact of the split",
    check=check,
    trips=lambda: toy(["a", "b", "c", "d"], ["cat", "dog", "cat", "dog"], ["train", "train", "test", "train"]),
    passes=lambda: toy(["a", "b", "c", "d"], ["cat", "dog", "cat", "dog"], ["train", "train", "test", "test"]),
    wrong_when="the class is known not to occur where the part was collected",
)
