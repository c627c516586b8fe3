"""Error of numbers whose best answer is a quantile."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full


def quantile(*, quantiles: Sequence[float] = (0.5,)) -> Loss:
    """Pinball loss max(q d, (q - 1) d) of d = target - output, summed over targets and quantiles.

    Takes outputs [B, Q], one per quantile, and targets [B]; for one quantile also outputs [B]. The weight counts
    targets times quantiles. Raises StoneError for other shapes. Source: Koenker & Bassett 1978.

    quantiles: Q numbers between 0 and 1; 0.5 is half the absolute error, whose best answer is the median.
    """
    if not quantiles or not all(0 < q < 1 for q in quantiles):
        raise StoneError(f"quantiles are {list(quantiles)}; each must be between 0 and 1", where="loss.quantiles",
                         fix="for example [0.1, 0.5, 0.9]")
    shares = torch.tensor(list(quantiles), dtype=torch.float64)

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        nonlocal shares
        output = full(logits.unsqueeze(-1) if logits.shape == target.shape else logits)
        if output.shape != (*target.shape, len(shares)):
            raise StoneError(
                f"the model gives {tuple(logits.shape)}, the target has shape {tuple(target.shape)}; "
                f"{len(shares)} quantiles need {(*target.shape, len(shares))}", where="loss",
                fix="by recipe name one quantile and train once for each; a model of your own needs an output for each",
            )  # fmt: skip
        shares = shares.to(output)
        miss = target.to(output.dtype).unsqueeze(-1) - output
        return torch.maximum(shares * miss, (shares - 1) * miss).sum(), float(miss.numel())

    return loss
