"""DAT206: one class outweighs another by far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import class_counts, toy

RATIO = 10.0


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where the largest class of train has more than `RATIO` times the examples of the smallest."""
    if not dataset.classes or dataset.target.ndim != 1:
        return
    counts = class_counts(dataset, dataset.rows("train"))
    present = np.flatnonzero(counts)
    if len(present) < 2:
        return
    large, small = present[np.argmax(counts[present])], present[np.argmin(counts[present])]
    ratio = float(counts[large] / counts[small])
    if ratio <= RATIO:
        return
    majority = float(counts[large] / counts.sum())
    yield found(
        RULE,
        f"'{dataset.classes[large]}' has {counts[large]:,} training examples, '{dataset.classes[small]}' "
        f"{counts[small]:,}: {ratio:.0f} to 1; always saying '{dataset.classes[large]}' is right {majority:.1%}",
        where=Where(field=dataset.target_name),
        evidence={"ratio": ratio, "threshold": RATIO, "majority_share": majority},
    )


RULE = Rule(
    code="DAT206",
    name="imbalance",
    severity="advice",
    summary="the largest class outweighs the smallest by far",
    why="Accuracy can look good while the small classes are never found.",
    fix="Judge by balanced_accuracy or macro_f1; then try sampler=class_balanced, or loss=logit_adjusted.",
    source="Amazon SageMaker Debugger, built-in rule ClassImbalance, threshold_imbalance 10",
    check=check,
    trips=lambda: toy([f"text {i}" for i in range(60)], ["cat"] * 56 + ["dog"] * 4),
    passes=lambda: toy([f"text {i}" for i in range(60)], ["cat"] * 50 + ["dog"] * 10),
    wrong_when="the metric already weighs classes alike",
    threshold="10 to 1 between the largest and the smallest class of train (SageMaker Debugger's default)",
)
