"""The learning rate for a batch of another size: offered, never taken."""

from __future__ import annotations

import math
from dataclasses import replace

from torchstone.core.plan import START, Choice

GOYAL = "Goyal et al. 2017, Accurate, Large Minibatch SGD"
MALLADI = "Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive Gradient Algorithms"
# Optimizers that divide by a root of squared gradients: their steps do not grow with the batch as those of SGD do.
ADAPTIVE = ("adam", "adamw", "adamw_8bit", "nadam", "radam", "rmsprop", "lamb")


def scaled_rate(optimizer: str, rate: float, batch: int, planned: int) -> tuple[float, str]:
    """The learning rate for `batch` examples a step where `rate` is for `planned`, and the rule with its source.

    In proportion to the batch for SGD and its like, to its root for the Adam kinds. Two significant digits. Both
    rules hold while the gradient's noise decides, so that the rate is a starting point.
    """
    grown = batch / planned
    if optimizer in ADAPTIVE:
        return float(f"{rate * math.sqrt(grown):.2g}"), f"the root of the batch: {MALLADI}"
    return float(f"{rate * grown:.2g}"), f"in proportion to the batch: {GOYAL}"


def offer_rate(choice: Choice, optimizer: str, batch: int, planned: int) -> Choice:
    """The choice of `optimizer.options.lr`, saying which rate another batch than the planned one would ask for.

    batch: examples a step as the user wants them; planned: those that the rate is for. Unchanged where both are equal
    or the user gave the rate.
    """
    if batch == planned or choice.origin == "user" or not isinstance(choice.value, float):
        return choice
    rate, rule = scaled_rate(optimizer, choice.value, batch, planned)
    said = f"{choice.value:g} is for {planned:,} examples a step; for {batch:,} try {rate:g} ({rule}; {START})"
    return replace(choice, changes_if=f"{choice.changes_if}; {said}" if choice.changes_if else said)
