"""Columns of a table as one vector per row.

Legend of axes: B rows, D features.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from torchstone.engines.pytorch.batch import Shape

# Of an embedding. With 10,000 categories a step of table_mlp took 7 ms at 64 features and 21 ms at the rule's 278;
# without the column 4 ms (one busy core, 2026-12-01).
WIDEST = 64


class Columns(nn.Module):
    """Numbers as they are, beside an embedding of each category column."""

    def __init__(self, shape: Shape) -> None:
        """shape: numbers and categories as in `Shape`; `width` tells the features of a row."""
        super().__init__()
        widths = [embedding_width(count) for count in shape.categories]
        self.embeddings = nn.ModuleList(
            nn.Embedding(count, width) for count, width in zip(shape.categories, widths, strict=True)
        )
        with torch.no_grad():
            for table in self.embeddings:
                # A category that training never shows is worth nothing, not something random.
                table.get_parameter("weight")[0] = 0.0
        self.width = shape.numbers + sum(widths)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        """Features [B, D] of numbers float32 [B, numbers] and categories int64 [B, categories]."""
        embedded = [table(categories[:, place]) for place, table in enumerate(self.embeddings)]
        return torch.cat([numbers, *embedded], dim=1) if embedded else numbers


def embedding_width(count: int) -> int:
    """Features of a column with this many categories: round(1.6 count^0.56) as in fastai's emb_sz_rule, at most 64.

    fastai itself stops at 600.
    """
    return min(WIDEST, max(1, round(1.6 * math.pow(count, 0.56))))
