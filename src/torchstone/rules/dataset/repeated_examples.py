"""DAT203: many exact repetitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import places, toy

SHARE = 0.02


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where more than `SHARE` of the examples repeat an earlier one."""
    if len(dataset) == 0:
        return
    _, first, counts = np.unique(dataset.groups, return_index=True, return_counts=True)
    repeats = len(dataset) - len(first)
    if repeats / len(dataset) <= SHARE:
        return
    most = int(np.argmax(counts))
    place = places(dataset, first[most : most + 1])[0]
    yield found(
        RULE,
        f"{repeats:,} of {len(dataset):,} examples ({repeats / len(dataset):.1%}) repeat another one exactly; "
        f"{place} stands {counts[most]:,} times",
        where=Where(path=place),
        evidence={"repeats": repeats, "examples": len(dataset), "share": repeats / len(dataset), "threshold": SHARE,
                  "most": int(counts[most])},
    )


RULE = Rule(
    code="DAT203",
    name="repeated_examples",
    severity="advice",
    summary="a good part of the data are exact repetitions",
    why="A repeated example weighs more in training and in every figure than its kind does in the world.",
    fix="Keep one of each, unless the repetition says how often it occurs.",
    source="Lee et al. 2022, Deduplicating Training Data Makes Language Models Better",
    check=check,
    trips=lambda: toy(["a", "b", "a", "a"], ["cat", "dog", "cat", "cat"]),
    passes=lambda: toy(["a", "b", "c", "d"], ["cat", "dog", "cat", "cat"]),
    wrong_when="the frequency of an input is itself information, or a narrow table has few possible rows",
    threshold="2 % of the examples (our measurement, 2026-12: iris 0.7 %, banking77 0.04 %, SMS spam 7.2 %)",
)
