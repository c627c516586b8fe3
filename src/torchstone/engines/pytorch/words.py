"""Token numbers as vectors.

Legend of axes: B examples, T tokens, D features.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

UNKNOWN = 1  # the token that stands for unseen characters


class Words(nn.Module):
    """An embedding of tokens in which padding is always zero and some words go unread in training."""

    def __init__(self, vocabulary: int, width: int, *, dropout: float, scale: float = 0.1) -> None:
        """width: D. dropout: share of tokens read as unknown in training. scale: standard deviation at the start."""
        super().__init__()
        self.width = width
        self.dropout = dropout
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        with torch.no_grad():
            self.embedding.weight.normal_(std=scale)
            self.embedding.weight[0] = 0.0

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Vectors [B, T, D] of tokens_BT int64; exactly zero where the token is 0."""
        if self.training and self.dropout > 0:
            unread_BT = (torch.rand(tokens_BT.shape, device=tokens_BT.device) < self.dropout) & (tokens_BT != 0)
            tokens_BT = tokens_BT.masked_fill(unread_BT, UNKNOWN)
        vectors_BTD: Tensor = self.embedding(tokens_BT)
        return vectors_BTD
