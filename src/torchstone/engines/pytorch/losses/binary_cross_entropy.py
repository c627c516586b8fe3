"""Cross-entropy of K independent yes-or-no labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.engines.pytorch.losses import Loss, check_number, check_smoothing, check_weights, full, like, paired


def binary_cross_entropy(*, label_smoothing: float = 0.0, pos_weight: Sequence[float] | None = None) -> Loss:
    """Negative log-likelihood of each yes or no, summed over examples and labels; the weight counts both.

    Takes logits (never probabilities) [B, K] and targets [B, K] of 0 and 1, or [B, 1] and [B]; raises StoneError for
    other shapes and for options out of range.

    label_smoothing: a target of 1 becomes 1 - s/2, one of 0 becomes s/2.
    pos_weight: K numbers; how much more a positive of each label counts. It weighs the sum, not the weight, as in
        torch.nn.BCEWithLogitsLoss.
    """
    check_smoothing(label_smoothing)
    check_weights("pos_weight", pos_weight)
    positives = None if pos_weight is None else torch.tensor(list(pos_weight), dtype=torch.float32)

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        nonlocal positives
        logits = full(paired(logits, target))
        if positives is not None and len(positives) > 1:
            check_number("pos_weight", len(positives), logits.shape[-1])
        if positives is not None and (positives.device != logits.device or positives.dtype != logits.dtype):
            positives = positives.to(device=logits.device, dtype=logits.dtype)
        wanted = like(target, logits)
        if label_smoothing:
            wanted = wanted * (1 - label_smoothing) + label_smoothing / 2
        total = functional.binary_cross_entropy_with_logits(logits, wanted, pos_weight=positives, reduction="sum")
        return total, float(target.numel())

    return loss
