"""Gated recurrent units over words, in both directions."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.recurrence import TextRecurrence
from torchstone.engines.pytorch.words import Words


def text_gru(
    shape: Shape,
    *,
    embedding: int = 128,
    width: int = 128,
    depth: int = 1,
    dropout: float = 0.3,
    word_dropout: float = 0.1,
) -> nn.Module:
    """Bidirectional GRU text classifier, mean and maximum over time (Cho et al. 2014).

    embedding: features of a token; width: features of one direction; depth: layers.
    dropout: share of the inputs of each layer and of the pooled features dropped in training.
    word_dropout: share of tokens read as unknown in training. Input int64 [B, T], 0 is padding; logits [B, K].
    """
    words = Words(shape.vocabulary, embedding, dropout=word_dropout)
    return TextRecurrence(words, cell, width=width, depth=depth, dropout=dropout, num_outputs=shape.num_outputs)


def cell(inputs: int, width: int) -> nn.Module:
    """One direction of one layer."""
    return nn.GRU(inputs, width, batch_first=True)
