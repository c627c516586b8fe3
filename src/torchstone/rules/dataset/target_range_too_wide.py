"""DAT212: a number to be learnt that reaches further than single precision does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Severity, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import toy

# The largest number of IEEE 754 single precision, 3.4e38, in which networks calculate.
LARGEST = float(np.finfo(np.float32).max)
# Steps of single precision between the quartiles below which ordinary values are one and the same.
STEPS = 4


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where targets, standardised as the network learns them, overflow or fall together."""
    train = dataset.target[dataset.rows("train")]
    if dataset.target.dtype.kind != "f" or dataset.target.ndim != 1 or not len(train):
        return
    with np.errstate(all="ignore"):  # what overflows is what is looked for
        distance = np.abs(dataset.target - train.mean()) / (train.std() or 1.0)
        problem = _problem(dataset.target, train, distance)
    if problem is None:
        return
    severity, reason, threshold = problem
    extreme = int(np.argmax(np.where(np.isfinite(distance), distance, np.abs(dataset.target))))
    low, high = float(dataset.target.min()), float(dataset.target.max())
    quartiles = [float(value) for value in np.quantile(train, [0.25, 0.75])]
    what = (f"'{dataset.target_name}' reaches from {low:.4g} to {high:.4g}, and half of its training values lie from "
            f"{quartiles[0]:.4g} to {quartiles[1]:.4g}; {reason}. The furthest is {dataset.target[extreme]:.4g} at "
            f"{dataset.where[extreme]}, in {dataset.split[extreme]}")
    yield found(RULE, what, where=Where(field=dataset.target_name), severity=severity,
                evidence={"low": low, "high": high, "quartiles": quartiles, "furthest": str(dataset.where[extreme]),
                          "threshold": threshold})  # fmt: skip


def _problem(target: np.ndarray, train: np.ndarray, distance: np.ndarray) -> tuple[Severity, str, float] | None:
    """Severity, reason and threshold of the worst that happens; distance: from the mean, in standard deviations."""
    if np.abs(target).max() > LARGEST or not np.isfinite(distance).all():
        return "error", f"single precision ends at {LARGEST:.2g}: predictions would be infinite", LARGEST
    bound = float(np.sqrt(LARGEST))
    if distance.max() > bound:
        return "error", (f"in standard deviations of the training values that is up to {distance.max():.2g}, and the "
                         f"square of more than {bound:.2g} is infinite: so is the loss"), bound  # fmt: skip
    spread, (low, high) = float(train.std() or 1.0), np.quantile(train, [0.25, 0.75])
    step = float(np.spacing(np.float32(max(abs(low - train.mean()), abs(high - train.mean())) / spread)))
    if 0 < (high - low) / spread < STEPS * step:
        return "warning", ("beside the extremes these are all the same in single precision: nothing can be learnt of "
                           "their differences"), STEPS * step  # fmt: skip
    return None


def _numbers(*extreme: float) -> Dataset:
    values = [float(row % 7) for row in range(60)]
    values[: len(extreme)] = extreme
    made = toy([float(row) for row in range(60)], ["x"] * 60, ["validation"] * 5 + ["train"] * 55, kind="number")
    return replace(made, task="tabular-regression", target=np.array(values), target_name="y", classes=())


RULE = Rule(
    code="DAT212",
    name="target_range_too_wide",
    severity="error",
    summary="the numbers to be learnt reach too far for single precision",
    why="Losses become infinite, or ordinary values melt into one: then nothing is learnt, or nothing is measured.",
    fix="Look at the furthest rows: drop them, mend their unit, or leave the cell empty where a number like 1e30 means "
        "missing; a target over many powers of ten is learnt as its logarithm.",
    source="IEEE 754: single precision holds 24 bits and ends at 3.4e38",
    check=check,
    trips=lambda: _numbers(1e30),
    passes=lambda: _numbers(1e4),
    wrong_when="never for infinite losses",
    threshold="a number beyond 3.4e38, a distance of more than 1.8e19 standard deviations, or quartiles less than 4 "
              "steps of single precision apart",
)  # fmt: skip
