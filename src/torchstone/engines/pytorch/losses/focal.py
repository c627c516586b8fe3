"""Cross-entropy that looks away from easy examples."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import IGNORES_NONE, Loss, check_weights, full, like, paired


def focal(*, gamma: float = 2.0, alpha: float | Sequence[float] | None = None) -> Loss:
    """Cross-entropy times (1 - p)^gamma, where p is the chance that the model gives to the truth, summed.

    Of several classes: logits [B, K, …], K of at least 2, and int64 targets [B, …]; the weight counts the targets.
    Of K yes-or-no labels: logits and targets [B, K], or [B, 1] and [B]; the weight counts all entries. Raises
    StoneError for other shapes. Source: Lin et al. 2017 (RetinaNet), equation 5; they divide by the number of
    positive anchors instead.

    gamma: 0 is cross-entropy; 2 is best in the paper's table 1b, for detection: starting point, tune on your data.
    alpha: of yes-or-no labels one number from 0 to 1, the weight of a positive, 1 - alpha that of a negative (0.25 with
        gamma 2 there, chosen together); of classes K numbers. It weighs the sum, never the weight.
    """
    _check_options(gamma, alpha)
    per_class = torch.tensor(list(alpha), dtype=torch.float32) if isinstance(alpha, Sequence) else None

    num_given = len(alpha) if isinstance(alpha, Sequence) else None

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        shape = logits.shape
        if len(shape) == 2 and shape[1] > 1 and target.dim() == 1 and (alpha is None or num_given == shape[1]):
            try:  # shapes are looked at where they fail: a look costs some percent of a small batch
                return _of_classes(full(logits), target, gamma, per_class), float(target.numel())
            except (ValueError, RuntimeError):
                _check_classes(logits, target, alpha)
                raise
        if shape == target.shape or shape == (*target.shape, 1):
            if per_class is not None:
                raise StoneError("alpha has one number per class, the targets are yes or no",
                                 where="loss.alpha", fix="give one number: the weight of a yes")
            return _of_labels(full(paired(logits, target)), target, gamma, alpha), float(target.numel())
        _check_classes(logits, target, alpha)
        return _of_classes(full(logits), target, gamma, per_class), float(target.numel())

    return loss


def _of_labels(logits: Tensor, target: Tensor, gamma: float, alpha: object) -> Tensor:
    wanted = like(target, logits)
    losses = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
    if gamma:
        # 1 - p_t for targets between 0 and 1 too: p + t - 2 p t
        losses = losses * _power(torch.addcmul(wanted, logits.sigmoid(), 1 - 2 * wanted), gamma)
    if alpha is not None:
        assert isinstance(alpha, (int, float))
        losses = losses * (wanted * (2 * alpha - 1) + (1 - alpha))
    return losses.sum()


def _of_classes(logits: Tensor, target: Tensor, gamma: float, per_class: Tensor | None) -> Tensor:
    losses = functional.cross_entropy(logits, target, ignore_index=IGNORES_NONE, reduction="none")
    if gamma:
        less = torch.expm1(-losses)  # p - 1; its square is that of 1 - p
        losses = losses * (less.square() if gamma == 2 else _power(-less, gamma))
    if per_class is not None:
        losses = losses * per_class.to(losses)[target]
    return losses.sum()


def _power(miss: Tensor, gamma: float) -> Tensor:
    """miss^gamma for miss from 0 to 1, with a finite slope at 0 also for gamma below 1.

    torchvision.ops.sigmoid_focal_loss gives NaN gradients there (0.29.1: gamma 0.5 at a logit of 100).
    """
    return miss.square() if gamma == 2 else miss.clamp_min(torch.finfo(miss.dtype).tiny) ** gamma


def _check_options(gamma: float, alpha: float | Sequence[float] | None) -> None:
    if gamma < 0:
        raise StoneError(f"gamma is {gamma:g}; it must be 0 or above", where="loss.gamma", fix="start at 2.0")
    if isinstance(alpha, (int, float)) and not 0 <= alpha <= 1:
        raise StoneError(f"alpha is {alpha:g}; it must be from 0 to 1", where="loss.alpha", fix="start at 0.25")
    if isinstance(alpha, Sequence):
        check_weights("alpha", alpha)


def _check_classes(logits: Tensor, target: Tensor, alpha: object) -> None:
    shape = tuple(logits.shape)
    if len(shape) != target.ndim + 1 or shape[0] != len(target) or shape[2:] != target.shape[1:]:
        raise StoneError(
            f"the model gives {shape}, the target has shape {tuple(target.shape)}; focal takes equal shapes (yes or "
            "no) or one class index where the model gives K numbers on axis 1", where="loss",
        )  # fmt: skip
    if isinstance(alpha, (int, float)) or (isinstance(alpha, Sequence) and len(alpha) != shape[1]):
        raise StoneError(f"alpha is {alpha}; for {shape[1]} classes it needs {shape[1]} numbers", where="loss.alpha")
