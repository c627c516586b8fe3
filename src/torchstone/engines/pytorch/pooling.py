"""What many tokens come to: sums over time that padding does not touch.

Legend of axes: B examples, T tokens, D features.
"""

from __future__ import annotations

from torch import Tensor


def token_mask(tokens_BT: Tensor) -> Tensor:
    """Whether a token is one of the text; padding is 0. bool [B, T]."""
    return tokens_BT != 0


def mean_over_time(states_BTD: Tensor, mask_BT: Tensor) -> Tensor:
    """Mean of the text's states, [B, D]; zeros for an empty text."""
    weight_BT1 = mask_BT.unsqueeze(-1).to(states_BTD.dtype)
    return (states_BTD * weight_BT1).sum(1) / weight_BT1.sum(1).clamp(min=1)


def max_over_time(states_BTD: Tensor, mask_BT: Tensor) -> Tensor:
    """Largest state of the text for each feature, [B, D]; zeros for an empty text."""
    outside_BT1 = ~mask_BT.unsqueeze(-1)
    largest_BD = states_BTD.masked_fill(outside_BT1, -float("inf")).amax(1)
    return largest_BD.masked_fill(outside_BT1.all(1), 0.0)
