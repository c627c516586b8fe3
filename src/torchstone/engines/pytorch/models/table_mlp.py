"""A multilayer perceptron for tables.

Legend of axes: B rows, K outputs.
"""

from __future__ import annotations

from torch import Tensor, nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.columns import Columns
from torchstone.engines.pytorch.norms import VectorNorm, vector_norm_of


class TableMlp(nn.Module):
    """Columns, layers, head."""

    def __init__(
        self, columns: Columns, *, width: int, depth: int, dropout: float, norm: VectorNorm, num_outputs: int
    ) -> None:
        super().__init__()
        self.columns = columns
        layers: list[nn.Module] = []
        for inputs in [columns.width, *[width] * (depth - 1)]:
            layers += [nn.Linear(inputs, width), vector_norm_of(norm, width), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(width, num_outputs)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        """Logits [B, K] of numbers float32 [B, numbers] and categories int64 [B, categories]."""
        logits_BK: Tensor = self.head(self.layers(self.columns(numbers, categories)))
        return logits_BK


def table_mlp(
    shape: Shape, *, width: int = 128, depth: int = 2, dropout: float = 0.1, norm: VectorNorm = "layer"
) -> nn.Module:
    """Multilayer perceptron with embeddings for categories (after the MLP of Gorishniy et al. 2021).

    width: features of a hidden layer; depth: hidden layers; dropout: after each. norm: `layer`, `rms` or `none`.
    Each layer has a LayerNorm, which that paper's MLP lacks; unlike BatchNorm it makes no row depend on the others
    of its batch, so one row is a valid batch and accumulation changes nothing. Logits [B, K].
    """
    return TableMlp(
        Columns(shape), width=width, depth=depth, dropout=dropout, norm=norm, num_outputs=shape.num_outputs
    )
