"""DAT211: no test part."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import spread


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where no example is held out to judge the end result."""
    if not len(dataset.rows("test")):
        yield found(RULE, f"none of the {len(dataset):,} examples is held out for the test", evidence={"examples": 0})


RULE = Rule(
    code="DAT211",
    name="missing_test",
    severity="advice",
    summary="there is no test part",
    why="The best epoch is chosen on validation, so that its metric there is too good: only a part that chose nothing "
    "tells what to expect of new data.",
    fix="Hold out a part (data.split, or a folder test), or collect more examples: classes of 3 or fewer give none.",
    source="Hastie, Tibshirani & Friedman 2009, The Elements of Statistical Learning, 7.2",
    check=check,
    trips=lambda: spread(100, shares=(85, 15, 0)),
    passes=lambda: spread(200),
    wrong_when="the test lies elsewhere, as in a contest",
)
