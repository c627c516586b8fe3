"""DAT208: hardly any training data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import spread

NUM = 50


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where train has fewer than `NUM` examples."""
    num = len(dataset.rows("train"))
    if num < NUM:
        yield found(RULE, f"there are {num:,} training examples", evidence={"examples": num, "threshold": NUM})


RULE = Rule(
    code="DAT208",
    name="tiny_dataset",
    severity="warning",
    summary="there is hardly any training data",
    why="A network can learn so few examples by heart, and what it shows on a few others is mostly chance.",
    fix="Collect more examples; until then judge by cross-validation and compare with a simple model.",
    source="scikit-learn, Choosing the right estimator: below 50 samples 'get more data'",
    check=check,
    trips=lambda: spread(40),
    passes=lambda: spread(100),
    wrong_when="the run only tries out whether everything works",
    threshold="50 training examples (scikit-learn's chart)",
)
