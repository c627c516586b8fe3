"""Cross-entropy that makes rare classes prove less.

Legend of axes: B examples, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import IGNORES_NONE, Loss, check_smoothing, full


def logit_adjusted(
    *, class_counts: Sequence[float] | None = None, tau: float = 1.0, label_smoothing: float = 0.0
) -> Loss:
    """Cross-entropy of logits + tau · log(share of the class in training), summed; plain logits when it is judged.

    Takes logits [B, K, …], K of at least 2, and int64 targets [B, …], or shares of the classes (mixed pictures) as
    float targets [B, K, …]; the weight counts the targets. The model learns
    what is left over when frequency is accounted for: its bare logits, which validation, test and predictions use,
    are meant for classes that are equally frequent, where balanced accuracy is highest. So the adjustment is made
    only where gradients are taken; elsewhere (validation) the loss is the cross-entropy of the bare logits. Raises
    StoneError for other shapes and counts. Source: Menon et al. 2021, Long-tail learning via logit adjustment,
    equation 10.

    class_counts: K numbers, examples of each class as training deals them out; the plan fills them in, and without
        them no batch is taken. A class without any counts as one example.
    tau: 0 is cross-entropy, 1 is consistent for balanced accuracy (their theorem 1): starting point, tune on your
        data.
    label_smoothing: share of the target spread evenly over all classes.
    """
    if not tau >= 0:
        raise StoneError(f"tau is {tau:g}; it must be 0 or above", where="loss.tau", fix="start at 1.0")
    check_smoothing(label_smoothing)
    moves_K = None if class_counts is None else tau * _log_shares(class_counts)
    num_classes = len(class_counts or ())

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        nonlocal moves_K
        if moves_K is None:
            raise StoneError("logit_adjusted needs to know how frequent each class is", where="loss.class_counts",
                             fix="give the number of training examples of each class; a planned run counts them")
        logits, shape = full(logits), logits.shape
        if len(shape) != 2 or shape[1] != num_classes:  # with one output the sum would broadcast
            _check(logits, target, num_classes)
        if torch.is_grad_enabled():
            if moves_K.dtype is not logits.dtype or moves_K.device != logits.device:
                moves_K = moves_K.to(logits)
            logits = logits + (moves_K if len(shape) == 2 else moves_K.view(-1, *(1,) * (len(shape) - 2)))
        try:
            total = functional.cross_entropy(
                logits, target, ignore_index=IGNORES_NONE, reduction="sum", label_smoothing=label_smoothing
            )
        except (ValueError, RuntimeError):  # looked at afterwards: a look costs some percent of a small batch
            _check(logits, target, num_classes)
            raise
        if target.is_floating_point():
            return total, float(target.numel() // num_classes)
        return total, float(target.numel())

    return loss


def _log_shares(class_counts: Sequence[float]) -> Tensor:
    if len(class_counts) < 2 or min(class_counts) < 0 or not sum(class_counts) > 0:
        raise StoneError(f"class_counts is {list(class_counts)}; logit_adjusted needs one number of training examples "
                         "per class", where="loss.class_counts", fix="e.g. loss.class_counts=[950, 50]")
    counts = torch.tensor([max(float(count), 1.0) for count in class_counts], dtype=torch.float64)
    return (counts / counts.sum()).log()


def _check(logits: Tensor, target: Tensor, num_classes: int) -> None:
    shape = logits.shape
    is_soft = target.is_floating_point() and target.shape == shape and len(shape) > 1
    if not is_soft and (len(shape) != target.ndim + 1 or shape[0] != len(target) or shape[2:] != target.shape[1:]):
        raise StoneError(
            f"the model gives {tuple(shape)}, the target has shape {tuple(target.shape)}; logit_adjusted needs one "
            "class index where the model gives K numbers on axis 1", where="loss",
        )  # fmt: skip
    if shape[1] != num_classes:
        raise StoneError(f"class_counts has {num_classes} numbers, the model gives {shape[1]} classes",
                         where="loss.class_counts", fix="leave it out: the plan counts the training examples")
