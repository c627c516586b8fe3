"""Cross-entropy of one class out of K."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import IGNORES_NONE, Loss, check_number, check_smoothing, check_weights, full


def cross_entropy(
    *,
    label_smoothing: float = 0.0,
    class_weights: Sequence[float] | Literal["inverse", "effective_number"] | None = None,
    ignore_index: int | None = None,
) -> Loss:
    """Negative log-likelihood of the right class, summed.

    Takes logits [B, K, …] and int64 targets [B, …], or shares of the classes as float targets [B, K, …], which weigh 1
    each whatever their class. Raises StoneError for other shapes and for K below 2, where
    the loss would be 0 whatever the model says; and for options out of range.

    label_smoothing: share of the target spread evenly over all classes (Szegedy et al. 2016, section 7).
    class_weights: K numbers; the weight of a batch is then the sum of its targets' class weights, as in
        torch.nn.CrossEntropyLoss with reduction "mean". In a recipe also `inverse` (as scikit-learn's "balanced") or
        `effective_number` (Cui et al. 2019, beta 0.999): the plan counts the training examples and puts numbers.
    ignore_index: targets with this value count neither in the sum nor in the weight; None: every target counts.
    """
    if isinstance(class_weights, str):
        raise StoneError(f"class_weights is '{class_weights}'; outside a recipe the loss needs a number per class",
                         where="loss.class_weights", fix="count the examples of each class")
    check_smoothing(label_smoothing)
    check_weights("class_weights", class_weights)
    per_class = None if class_weights is None else torch.tensor(list(class_weights), dtype=torch.float32)
    ignored = IGNORES_NONE if ignore_index is None else ignore_index
    is_plain = per_class is None and ignore_index is None

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        nonlocal per_class
        logits = full(logits)
        if logits.dim() < 2 or logits.shape[1] < 2:  # torch takes these
            _check(logits, target, per_class)
        if per_class is not None and (per_class.device != logits.device or per_class.dtype != logits.dtype):
            per_class = per_class.to(device=logits.device, dtype=logits.dtype)
        try:
            total = functional.cross_entropy(
                logits, target, weight=per_class, ignore_index=ignored, reduction="sum", label_smoothing=label_smoothing
            )
        except (ValueError, RuntimeError):  # looked at afterwards: a look costs some percent of a small batch
            _check(logits, target, per_class)
            raise
        if is_plain and not target.is_floating_point():
            return total, float(target.numel())
        return total, _weight(target, per_class, ignore_index)

    return loss


def _weight(target: Tensor, per_class: Tensor | None, ignore_index: int | None) -> Tensor | float:
    if target.is_floating_point():
        return float(target.numel() // target.shape[1])
    if ignore_index is None:
        return float(target.numel()) if per_class is None else per_class[target].sum()
    counts = target != ignore_index
    return counts.sum() if per_class is None else per_class[target[counts]].sum()


def _check(logits: Tensor, target: Tensor, per_class: Tensor | None) -> None:
    shape = logits.shape
    is_soft = target.is_floating_point() and target.shape == shape and len(shape) > 1
    if not is_soft and (len(shape) != target.ndim + 1 or shape[0] != target.shape[0] or shape[2:] != target.shape[1:]):
        raise StoneError(
            f"the model gives {tuple(shape)}, the target has shape {tuple(target.shape)}; "
            "cross-entropy needs one class index where the model gives K numbers on axis 1",
            where="loss", fix="for several labels per example use binary_cross_entropy, for a number mse",
        )
    if shape[1] < 2:
        raise StoneError("the model gives one number per example; cross-entropy of one class is always 0",
                         where="loss", fix="give the model as many outputs as there are classes")
    if per_class is not None:
        check_number("class_weights", len(per_class), shape[1])
