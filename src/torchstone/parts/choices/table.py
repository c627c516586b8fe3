"""What the plan chooses for tables: model, optimizer, and how long to train, counted in optimizer steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchstone.core.plan import START, Choice
from torchstone.parts.choices.adamw_cosine import ADAMW_COSINE
from torchstone.parts.choices.which_model import GRINSZTAJN, TREES_WIN_BELOW, which_model

GORISHNIY = "Gorishniy et al. 2021, Revisiting Deep Learning Models for Tabular Data"
MEASURED = "measured on wine, breast_cancer, digits, diabetes and Adult, 2026-12-01"
ENOUGH_STEPS = 800  # optimizer steps after which the sets of MEASURED had stopped getting better


def choose_table(facts: Mapping[str, Any]) -> list[Choice]:
    """Model, optimizer, schedule and length of a training on a table, each with its reason.

    facts: num_train (rows), num_numbers, num_categories (columns), has_accelerator, and model where the user names
    one: another model than the planned one keeps its own options. Small tables get small batches and many epochs,
    large ones few epochs: about 800 optimizer steps, or what five epochs take.
    """
    return [*_model(facts), *_optimizer(), *_length(facts)]


def _model(facts: Mapping[str, Any]) -> list[Choice]:
    name = which_model({**facts, "modality": "table"}).choice
    if facts.get("model", name) != name:
        return []
    rows = facts["num_train"]
    small = rows < 5_000
    columns = f"{facts['num_numbers']} numbers and {facts['num_categories']} categories"
    reason = f"{columns}; a good perceptron is a hard baseline to beat for larger networks"
    if rows < TREES_WIN_BELOW:
        reason += f"; with {rows:,} training rows boosted trees often win: see their row among the baselines"
    return [
        Choice("model.name", name, "derived", reason, f"{GORISHNIY}; {GRINSZTAJN}",
               changes_if="table_resnet is the other one to try"),
        Choice("model.options.width", 128 if small else 256, "derived",
               f"{rows:,} training rows are {'below' if small else 'at least'} 5,000", MEASURED),
        Choice("model.options.depth", 2, "default", "two hidden layers", START),
        Choice("model.options.dropout", 0.3 if small else 0.2, "derived",
               f"{rows:,} training rows are {'few: easy to memorise' if small else 'enough for less of it'}",
               MEASURED if small else START,
               changes_if="few rows and a noisy target: 0.5 did better on diabetes"),
    ]


def _optimizer() -> list[Choice]:
    return [
        Choice("optimizer.name", "adamw", "default", "what studies of networks on tables use", GORISHNIY),
        Choice("optimizer.options.lr", 2e-3, "default",
               "a small network with LayerNorm bears a high rate under warm-up and cosine", f"{MEASURED}; {START}"),
        *ADAMW_COSINE,
    ]


def _length(facts: Mapping[str, Any]) -> list[Choice]:
    rows = max(facts["num_train"], 1)
    largest = 1024 if facts.get("has_accelerator") else 256
    batch = _power_of_two(rows / 32, lowest=16, highest=largest)
    steps = -(-rows // batch)
    epochs = min(max(-(-ENOUGH_STEPS // steps), 5), 200)
    return [
        Choice("train.batch_size", batch, "derived",
               f"about a thirtieth of {rows:,} rows, a power of two between 16 and {largest}", START),
        Choice("train.epochs", epochs, "derived",
               f"{epochs} x {steps:,} = {epochs * steps:,} optimizer steps; about {ENOUGH_STEPS:,} are enough for "
               "small tables, at least 5 and at most 200 epochs", MEASURED,
               changes_if="validation still improves at the end: more; it got worse long before: fewer"),
    ]


def _power_of_two(value: float, *, lowest: int, highest: int) -> int:
    power = lowest
    while power * 2 <= min(value, highest):
        power *= 2
    return power
