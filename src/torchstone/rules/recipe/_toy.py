"""Small plans for the examples of rules."""

from __future__ import annotations

from typing import Any

from torchstone.core.plan import Choice, Plan, Planning
from torchstone.core.task import Task

SINGLE = Task("image-classification", "image", "single", "accuracy", "max", "cross_entropy", "", "")
TEXT = Task("text-classification", "text", "single", "accuracy", "max", "cross_entropy", "", "")
NUMBER = Task("tabular-regression", "table", "number", "rmse", "min", "mse", "", "")
MULTI = Task("text-multilabel", "text", "multi", "micro_f1", "max", "binary_cross_entropy", "", "")

_VALUES = {
    "model.name": "small_resnet", "loss.name": "cross_entropy", "optimizer.name": "adamw", "optimizer.options.lr": 1e-3,
    "schedule.name": "cosine", "schedule.options.warmup": 0.05, "metric": "accuracy", "train.batch_size": 64,
    "train.accumulate": 1, "train.epochs": 10, "train.precision": "fp32", "train.device": "cpu", "train.workers": 0,
    "train.clip_norm": 1.0, "train.patience": 0, "averaging.name": None,
}  # fmt: skip
_FACTS = {"num_train": 1000, "num_classes": 3, "smallest_class": 300, "largest_class": 350, "world": 1, "num_cores": 2,
          "num_validation": 200, "num_test": 200}  # fmt: skip


def planning(task: Task = SINGLE, facts: dict[str, Any] | None = None, **values: Any) -> Planning:
    """A healthy plan with some values changed; dots are written as double underscores."""
    merged = {**_VALUES, **{name.replace("__", "."): value for name, value in values.items()}}
    choices = {name: Choice(name, value, "user", "as told") for name, value in merged.items()}
    return Planning(Plan(choices), task, {**_FACTS, **(facts or {})})


def num_steps(planning: Planning) -> int:
    """Optimizer steps of the whole run, as far as the plan knows: the sampler may deal out other numbers."""
    plan = planning.plan
    return int(plan["train.epochs"]) * -(-int(planning.facts["num_train"]) // max(int(plan["train.batch_size"]), 1))
