"""A residual network for tables.

Legend of axes: B rows, D features, K outputs.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.columns import Columns
from torchstone.engines.pytorch.norms import VectorNorm, vector_norm_of
from torchstone.engines.pytorch.stochastic_depth import StochasticDepth, linear_rule


class Block(nn.Module):
    """Norm, a wider layer, back to the width, added to what came in."""

    def __init__(
        self, width: int, hidden: int, *, hidden_dropout: float, dropout: float, norm: VectorNorm, drop: float
    ) -> None:
        super().__init__()
        self.norm = vector_norm_of(norm, width)
        self.widen = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.hidden_dropout = nn.Dropout(hidden_dropout)
        self.dropout = nn.Dropout(dropout)
        self.drop = StochasticDepth(drop)

    def forward(self, features_BD: Tensor) -> Tensor:
        """The next features, [B, D]."""
        hidden = self.hidden_dropout(functional.relu(self.widen(self.norm(features_BD))))
        next_BD: Tensor = features_BD + self.drop(self.dropout(self.narrow(hidden)))
        return next_BD


class TableResnet(nn.Module):
    """Columns, a first layer, blocks, a last norm, head."""

    def __init__(
        self, columns: Columns, blocks: list[Block], *, width: int, norm: VectorNorm, num_outputs: int
    ) -> None:
        super().__init__()
        self.columns = columns
        self.first = nn.Linear(columns.width, width)
        self.blocks = nn.Sequential(*blocks)
        self.norm = vector_norm_of(norm, width)
        self.head = nn.Linear(width, num_outputs)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        """Logits [B, K] of numbers float32 [B, numbers] and categories int64 [B, categories]."""
        features_BD = self.blocks(self.first(self.columns(numbers, categories)))
        logits_BK: Tensor = self.head(functional.relu(self.norm(features_BD)))
        return logits_BK


def table_resnet(
    shape: Shape,
    *,
    width: int = 128,
    depth: int = 2,
    widening: float = 2.0,
    hidden_dropout: float = 0.2,
    dropout: float = 0.0,
    norm: VectorNorm = "layer",
    stochastic_depth: float = 0.0,
) -> nn.Module:
    """Residual network with embeddings for categories (the ResNet of Gorishniy et al. 2021, LayerNorm for BatchNorm).

    width: features between blocks; depth: blocks; widening: a block's hidden features per feature.
    hidden_dropout: inside a block; dropout: of what a block adds. LayerNorm makes no row depend on the others of its
    batch, so one row is a valid batch and accumulation changes nothing. Logits [B, K].
    norm: `layer`, `rms` or `none`. stochastic_depth: probability that the last block is left out for a training row,
    less for earlier ones (Huang et al. 2016); 0 to below 1.
    """
    hidden = max(1, round(width * widening))
    blocks = [
        Block(width, hidden, hidden_dropout=hidden_dropout, dropout=dropout, norm=norm, drop=drop)
        for drop in linear_rule(stochastic_depth, depth)
    ]
    return TableResnet(Columns(shape), blocks, width=width, norm=norm, num_outputs=shape.num_outputs)
