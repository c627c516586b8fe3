"""Cross-entropy of one class out of K."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.engines.pytorch.losses import Loss


def cross_entropy(
    *, label_smoothing: float = 0.0, class_weights: Sequence[float] | None = None, ignore_index: int = -100
) -> Loss:
    """Negative log-likelihood of the right class, summed.

    label_smoothing: share of the target spread evenly over all classes (Szegedy et al. 2016, section 7).
    class_weights: K numbers; the weight of a batch is then the sum of its targets' class weights, as in
        torch.nn.CrossEntropyLoss with reduction "mean".
    ignore_index: targets with this value count neither in the sum nor in the weight.
    """
    weights = None if class_weights is None else torch.tensor(list(class_weights), dtype=torch.float32)

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        per_class = None if weights is None else weights.to(device=logits.device, dtype=torch.float32)
        total = functional.cross_entropy(
            logits.float(), target, weight=per_class, ignore_index=ignore_index,
            reduction="sum", label_smoothing=label_smoothing,
        )
        counts = target != ignore_index
        if per_class is None:
            return total, counts.sum()
        return total, (per_class[target.clamp(0, len(per_class) - 1)] * counts).sum()

    return loss
