"""Targets as tensors; numbers are learnt standardised.

Legend of axes: N examples, K classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from torchstone.core.dataset import Dataset


def fit_target(dataset: Dataset) -> dict[str, float]:
    """`target_mean` and `target_std` of the training rows for a number (std 0 counts as 1); {} for classes.

    A target of mean 0 and variance 1 lets one learning rate serve prices and percentages alike.
    """
    if dataset.target.dtype.kind != "f":
        return {}
    values = dataset.target[dataset.rows("train")]
    return {"target_mean": float(values.mean()), "target_std": float(values.std()) or 1.0}


def target_tensor(dataset: Dataset, encoding: Mapping[str, Any]) -> torch.Tensor:
    """The targets of all N rows: int64 [N], float32 [N, K] for several labels, float32 [N] standardised for a number.

    A standardised prediction p stands for the number p * target_std + target_mean.
    """
    if dataset.target.dtype.kind != "f":
        kind = np.int64 if dataset.target.ndim == 1 else np.float32
        return torch.from_numpy(dataset.target.astype(kind))
    standardised = (dataset.target - encoding["target_mean"]) / encoding["target_std"]
    return torch.from_numpy(standardised.astype(np.float32))
