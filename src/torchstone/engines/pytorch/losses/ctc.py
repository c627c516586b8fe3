"""Sequences of labels without knowing where each label stands."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, made_for


@made_for("sequences")
def ctc(*, blank: int = 0, padding: int = -1, is_length_first: bool = False) -> Loss:
    """Negative log-likelihood over all ways to stretch the labels over the frames, summed over sequences.

    Takes logits [B, T, C] and int64 targets [B, S]: labels, then `padding`. The weight counts sequences (torch's
    "mean" divides each by its number of labels first). A target that does not fit into its frames has an infinite
    loss, which ends a run and names the example. Raises StoneError for other shapes. Source: Graves et al. 2006.

    blank: the class that says nothing. padding: what fills a target up; no class.
    is_length_first: targets are [B, 1 + S] and begin with the number of frames, for logits padded along T.
    """
    if padding >= 0:
        raise StoneError(f"padding is {padding}; it must be below 0, where no class is", where="loss.padding",
                         fix="use -1")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        if logits.ndim != 3 or target.ndim != 2 or len(logits) != len(target):
            raise StoneError(
                f"the model gives {tuple(logits.shape)}, the target has shape {tuple(target.shape)}; "
                "ctc needs [B, T, C] and [B, S]", where="loss",
            )  # fmt: skip
        frames = torch.full((len(target),), logits.shape[1], dtype=torch.int64, device=logits.device)
        labels = target
        if is_length_first:
            frames, labels = target[:, 0].contiguous(), target[:, 1:]
        log_chances_TBC = functional.log_softmax(full(logits), dim=2).transpose(0, 1)
        lengths = (labels != padding).sum(1)
        total = functional.ctc_loss(log_chances_TBC, labels.clamp_min(0), frames, lengths, blank, reduction="sum")
        return total, float(len(target))

    return loss
