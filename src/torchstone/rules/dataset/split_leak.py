"""DAT202: examples of the validation or test part that also stand in train."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset, Split
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.parts.columns.same_input import same_input
from torchstone.rules.dataset._toy import places, toy

# Share of a part from which its figures cannot be trusted at all.
ERROR_SHARE = 0.05


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding for each of validation and test that shares inputs with an earlier part."""
    pairs: tuple[tuple[Split, Split], ...] = (("validation", "train"), ("test", "train"), ("test", "validation"))
    groups = same_input(dataset.inputs, dataset.kinds, dataset.groups)
    for later, earlier in pairs:
        rows, seen = dataset.rows(later), dataset.rows(earlier)
        leaked = rows[np.isin(groups[rows], groups[seen])]
        if len(leaked) == 0:
            continue
        share = len(leaked) / len(rows)
        twin = seen[groups[seen] == groups[leaked[0]]][:1]
        is_grave = earlier == "train" and share >= ERROR_SHARE
        yield found(
            RULE,
            f"{len(leaked):,} of {len(rows):,} {later} examples ({share:.1%}) also stand in {earlier}; "
            f"the first: {places(dataset, leaked)[0]} = {places(dataset, twin)[0]}",
            where=Where(path=places(dataset, leaked)[0]),
            severity="error" if is_grave else None,
            evidence={"part": later, "also_in": earlier, "examples": len(leaked), "of": len(rows), "share": share,
                      "threshold_for_error": ERROR_SHARE, "places": places(dataset, leaked, 20)},
        )


RULE = Rule(
    code="DAT202",
    name="split_leak",
    severity="warning",
    summary="an example is in two parts of the split",
    why="The model is examined on what it has seen, so the figure promises more than new data will keep.",
    fix="Take these examples out of one part, or leave the split to torchstone, which keeps equal ones together.",
    source="Kapoor & Narayanan 2023, Leakage and the reproducibility crisis in ML-based science (type L1.4)",
    check=check,
    trips=lambda: toy(["a", "b", "c", "a"], ["cat", "dog", "dog", "cat"], ["train", "train", "train", "test"]),
    passes=lambda: toy(["a", "b", "c", "d"], ["cat", "dog", "dog", "cat"], ["train", "train", "train", "test"]),
    wrong_when="equal rows of a narrow table are different cases, or case carries the meaning (texts: without case)",
    threshold="warning from one example; error from 5 % of a part also in train (our choice)",
)
