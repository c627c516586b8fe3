"""Both directions of a recurrent net over padded texts, without padding in either.

Legend of axes: B examples, T tokens, D features.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from torchstone.engines.pytorch.pooling import max_over_time, mean_over_time, token_mask
from torchstone.engines.pytorch.words import Words


class TextRecurrence(nn.Module):
    """Stacked layers that read a text forwards and backwards; mean and maximum over time are classified.

    The backward direction reads each text turned round within its own length, so padding always comes last, where
    no state of a token can see it. That needs neither packing nor a copy of the lengths to the CPU.
    """

    def __init__(
        self, words: Words, cell: Callable[[int, int], nn.Module], *, width: int, depth: int, dropout: float,
        num_outputs: int,
    ) -> None:
        """cell: (input features, width) → a one-directional batch-first layer that returns (states, last state)."""
        super().__init__()
        sizes = [words.width] + [2 * width] * (depth - 1)
        self.words = words
        self.forwards = nn.ModuleList(cell(size, width) for size in sizes)
        self.backwards = nn.ModuleList(cell(size, width) for size in sizes)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, num_outputs)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Logits [B, K] of tokens_BT int64, 0 is padding."""
        mask_BT = token_mask(tokens_BT)
        turned_BT1 = turned(mask_BT).unsqueeze(-1)
        states_BTD: Tensor = self.words(tokens_BT)
        for ahead, behind in zip(self.forwards, self.backwards, strict=True):
            given_BTD = self.dropout(states_BTD)
            ahead_BTD, _ = ahead(given_BTD)
            behind_BTD, _ = behind(given_BTD.gather(1, turned_BT1.expand_as(given_BTD)))
            back_BTD = behind_BTD.gather(1, turned_BT1.expand_as(behind_BTD))
            states_BTD = torch.cat((ahead_BTD, back_BTD), dim=-1)
        pooled_BD = torch.cat((mean_over_time(states_BTD, mask_BT), max_over_time(states_BTD, mask_BT)), dim=-1)
        logits_BK: Tensor = self.head(self.dropout(pooled_BD))
        return logits_BK


def turned(mask_BT: Tensor) -> Tensor:
    """Places that turn each text round within its length and leave its padding where it is: int64 [B, T]."""
    places_T = torch.arange(mask_BT.shape[1], device=mask_BT.device)
    return torch.where(mask_BT, mask_BT.sum(1, keepdim=True) - 1 - places_T, places_T)
