"""A transformer encoder over words.

Legend of axes: B examples, T tokens, D features, H heads, K outputs.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.norms import VectorNorm, vector_norm_of
from torchstone.engines.pytorch.pooling import mean_over_time, token_mask
from torchstone.engines.pytorch.stochastic_depth import StochasticDepth, linear_rule
from torchstone.engines.pytorch.words import Words


class Block(nn.Module):
    """Attention, then a feed-forward net, each after its own LayerNorm and added to what came in."""

    def __init__(self, width: int, heads: int, dropout: float, norm: VectorNorm, drop: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = vector_norm_of(norm, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.feed_norm = vector_norm_of(norm, width)
        self.feed_in = nn.Linear(width, 4 * width)
        self.feed_out = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)
        self.drop = StochasticDepth(drop)

    def forward(self, states_BTD: Tensor, seen_B11T: Tensor) -> Tensor:
        """The next states, [B, T, D]; seen_B11T: which tokens may be attended to."""
        attended_BTD = self.attend(self.attention_norm(states_BTD), seen_B11T)
        states_BTD = states_BTD + self.drop(self.dropout(self.mix(attended_BTD)))
        wide = self.dropout(functional.gelu(self.feed_in(self.feed_norm(states_BTD))))
        next_BTD: Tensor = states_BTD + self.drop(self.dropout(self.feed_out(wide)))
        return next_BTD

    def attend(self, states_BTD: Tensor, seen_B11T: Tensor) -> Tensor:
        """Each token's mixture of the seen tokens' values, head by head, [B, T, D]."""
        batch, time, width = states_BTD.shape
        split = self.qkv(states_BTD).view(batch, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = split.unbind(0)
        mixed_BHTd = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen_B11T)
        return mixed_BHTd.transpose(1, 2).reshape(batch, time, width)


class TextTransformer(nn.Module):
    """Words and positions, blocks, a last norm, and the mean over time."""

    def __init__(
        self, words: Words, blocks: list[Block], *, max_length: int, dropout: float, norm: VectorNorm, num_outputs: int
    ) -> None:
        super().__init__()
        width = words.width
        self.words = words
        self.register_buffer("positions", sinusoids(max_length, width), persistent=False)
        self.blocks = nn.ModuleList(blocks)
        self.norm = vector_norm_of(norm, width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, num_outputs)

    def forward(self, tokens_BT: Tensor) -> Tensor:
        """Logits [B, K] of tokens_BT int64, 0 is padding."""
        mask_BT = token_mask(tokens_BT)
        first_T = torch.arange(tokens_BT.shape[1], device=tokens_BT.device) == 0
        # An empty text sees its first padding: attention to nothing would be NaN. Its pooled mean is zero anyway.
        seen_B11T = (mask_BT | first_T)[:, None, None, :]
        scaled_BTD = self.words(tokens_BT) * math.sqrt(self.words.width)
        states_BTD = self.dropout(scaled_BTD + self.places(tokens_BT.shape[1]))
        for block in self.blocks:
            states_BTD = block(states_BTD, seen_B11T)
        logits_BK: Tensor = self.head(self.dropout(mean_over_time(self.norm(states_BTD), mask_BT)))
        return logits_BK

    def places(self, time: int) -> Tensor:
        """The positions of the first `time` tokens, [T, D]; padding may reach beyond the longest text."""
        known = self.get_buffer("positions")
        return functional.pad(known, (0, 0, 0, max(time - known.shape[0], 0)))[:time]


def sinusoids(length: int, width: int) -> Tensor:
    """Sines and cosines of each place at wavelengths from 2π to 20000π, [length, width] (Vaswani et al. 2017)."""
    place = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    angles = place * rate
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width].float()


def text_transformer(
    shape: Shape,
    *,
    width: int = 128,
    depth: int = 2,
    heads: int = 4,
    dropout: float = 0.1,
    word_dropout: float = 0.1,
    norm: VectorNorm = "layer",
    stochastic_depth: float = 0.0,
) -> nn.Module:
    """Pre-norm transformer encoder from scratch, sinusoidal positions, mean over time (Vaswani et al. 2017).

    width: features of a token, a multiple of heads; depth: blocks. Norms stand before attention and feed-forward,
    which trains without long warm-up (Xiong et al. 2020). dropout: in every block and before the head.
    word_dropout: share of tokens read as unknown in training. norm: `layer`, `rms` or `none`.
    stochastic_depth: probability that each half of the last block is left out for a training text, less for earlier
    ones (Huang et al. 2016); 0 to below 1. Input int64 [B, T], 0 is padding; logits [B, K].
    Raises StoneError where width is not a multiple of heads.
    """
    if width % heads:
        raise StoneError(
            f"width is {width} and heads is {heads}; width must be a multiple of heads",
            where="model.options.width", fix=f"take {heads * max(round(width / heads), 1)}",
        )
    words = Words(shape.vocabulary, width, dropout=word_dropout, scale=width**-0.5)
    blocks = [Block(width, heads, dropout, norm, drop) for drop in linear_rule(stochastic_depth, depth)]
    return TextTransformer(
        words, blocks, max_length=shape.max_length, dropout=dropout, norm=norm, num_outputs=shape.num_outputs
    )
