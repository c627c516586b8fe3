"""Small data sets, plans and a hand-written training loop, independent of torchstone's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from torchstone.core.dataset import ColumnKind, Dataset
from torchstone.core.plan import Choice, Plan


def a_plan(choices: Sequence[Choice] = (), **fields: Any) -> Plan:
    """A plan of these choices and of user values, `text__max_length=8` for text.max_length."""
    own = [Choice(name.replace("__", "."), value, "user", "a test") for name, value in fields.items()]
    return Plan({choice.field: choice for choice in [*choices, *own]})


def a_dataset(
    inputs: Mapping[str, Sequence[Any]], kinds: Mapping[str, ColumnKind], target: Any, split: Sequence[str]
) -> Dataset:
    """A dataset of N rows; numbers become float64, everything else object arrays."""
    num = len(split)
    columns: dict[str, np.ndarray] = {}
    for name, values in inputs.items():
        columns[name] = np.empty(num, dtype=np.float64 if kinds[name] == "number" else object)
        columns[name][:] = values
    target = np.asarray(target)
    classes = [] if target.dtype.kind == "f" else [f"class {k}" for k in range(int(target.max()) + 1)]
    names = np.array([f"row {i}" for i in range(num)], dtype=object)
    return Dataset(
        "a-task", "made.csv", names, names, columns, kinds, target, "y", classes,
        np.array(split, dtype=object), np.arange(num), "digest",
    )  # fmt: skip


def split_of(target: np.ndarray, seed: int, share: float = 0.2) -> np.ndarray:
    """Train and test, `share` of each class (of all rows for a number) in test."""
    rng = np.random.default_rng(seed)
    split = np.full(len(target), "train", dtype=object)
    kinds = np.zeros(len(target)) if target.dtype.kind == "f" else target
    for kind in np.unique(kinds):
        rows = rng.permutation(np.flatnonzero(kinds == kind))
        split[rows[: max(1, round(share * len(rows)))]] = "test"
    return split


def a_table(features: np.ndarray, target: np.ndarray, seed: int) -> Dataset:
    """A dataset of number columns, a fifth of it test."""
    names = [f"x{j}" for j in range(features.shape[1])]
    inputs = dict(zip(names, features.T, strict=True))
    return a_dataset(inputs, dict.fromkeys(names, "number"), target, split_of(target, seed))


def train(model: torch.nn.Module, source: Any, dataset: Dataset, plan: Plan, seed: int) -> np.ndarray:
    """Trains as the plan says (AdamW, warm-up, cosine), and gives the outputs [n, K] on the rows of test."""
    rows, size, epochs = dataset.rows("train"), plan["train.batch_size"], plan["train.epochs"]
    rate, warmup = plan["optimizer.options.lr"], plan["schedule.options.warmup"]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=rate, weight_decay=plan["optimizer.options.weight_decay"], fused=True
    )
    total = epochs * math.ceil(len(rows) / size)
    rising = max(1, round(warmup * total))
    rng = np.random.default_rng(seed)
    step = 0
    for epoch in range(epochs):
        model.train()
        order = rng.permutation(rows)
        for start in range(0, len(order), size):
            falling = 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, total - rising)))
            optimizer.param_groups[0]["lr"] = rate * ((step + 1) / rising if step < rising else falling)
            batch = source.batch(order[start : start + size], epoch)
            logits = model(*batch.inputs)
            is_number = batch.target.dtype == torch.float32
            measure = functional.mse_loss if is_number else functional.cross_entropy
            optimizer.zero_grad(set_to_none=True)
            measure(logits[:, 0] if is_number else logits, batch.target).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.get("train.clip_norm", 1.0))
            optimizer.step()
            step += 1
    return outputs(model, source, dataset.rows("test"))


def outputs(model: torch.nn.Module, source: Any, rows: np.ndarray) -> np.ndarray:
    """The model's outputs [n, K] for these rows, in evaluation mode."""
    model.eval()
    with torch.inference_mode():
        parts = [model(*source.batch(rows[i : i + 256], None).inputs) for i in range(0, len(rows), 256)]
    return torch.cat(parts).numpy()
