"""Convolutions over words.

Legend of axes: B examples, T tokens, D features, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pooling import max_over_time, mean_over_time, token_mask
from torchstone.engines.pytorch.words import Words


class TextCnn(nn.Module):
    """Phrases of several widths, the strongest of each kind kept."""

    def __init__(self, words: Words, widths: Sequence[int], channels: int, dropout: float, num_outputs: int) -> None:
        super().__init__()
        self.words = words
        self.widths = tuple(widths)
        self.filters = nn.ModuleList(nn.Conv1d(words.width, channels, width) for width in self.widths)
        features = channels * len(self.widths) + words.width
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(features, num_outputs)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Logits [B, K] of tokens_BT int64, 0 is padding."""
        mask_BT = token_mask(tokens_BT)
        words_BTD = self.words(tokens_BT)
        words_BDT = words_BTD.transpose(1, 2)
        pooled = [mean_over_time(words_BTD, mask_BT)]
        for width, convolution in zip(self.widths, self.filters, strict=True):
            padded = functional.pad(words_BDT, ((width - 1) // 2, width // 2))
            phrases_BTD = functional.relu(convolution(padded)).transpose(1, 2)
            pooled.append(max_over_time(phrases_BTD, mask_BT))
        logits_BK: Tensor = self.head(self.dropout(torch.cat(pooled, dim=1)))
        return logits_BK


def text_cnn(
    shape: Shape,
    *,
    embedding: int = 128,
    channels: int = 128,
    widths: Sequence[int] = (1, 2, 3),
    dropout: float = 0.5,
    word_dropout: float = 0.1,
) -> nn.Module:
    """Convolutional text classifier: embeddings, several phrase widths, maximum over time (Kim 2014).

    embedding: features of a token; channels: filters of each width; widths: phrase lengths in tokens.
    dropout: share of the pooled features dropped in training. word_dropout: share of tokens read as unknown in
    training, which also teaches the model what an unknown token is worth (Iyyer et al. 2015, section 3.1).
    The mean of the embeddings is pooled too. Input int64 [B, T], 0 is padding; logits [B, K].
    """
    words = Words(shape.vocabulary, embedding, dropout=word_dropout)
    return TextCnn(words, widths, channels, dropout, shape.num_outputs)
