"""The last layer that a loss asks for: a run by recipe puts it on the model that the plan names.

Legend of axes: B examples, D embedding, K classes.
"""

from __future__ import annotations

from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.core.plan import Plan
from torchstone.engines.pytorch import losses
from torchstone.engines.pytorch.losses.arcface import CosineHead

FOLDER = "torchstone.engines.pytorch.losses"


class Headed(nn.Module):
    """A model that gives embeddings [B, D], and what makes cosines [B, K] of them."""

    def __init__(self, body: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.body, self.head = body, head

    def forward(self, *inputs: Tensor) -> Tensor:
        cosines: Tensor = self.head(self.body(*inputs))
        return cosines


def embedding_size(plan: Plan) -> int | None:
    """The D that the loss of a plan asks for, where it takes cosines; None where it takes one output per class."""
    name = plan.get("loss.name")
    if name is None or losses.takes(catalog.find(FOLDER, name)) != "cosines":
        return None
    return int(plan["loss.options.embedding"])


def with_head(model: nn.Module, plan: Plan, num_classes: int) -> nn.Module:
    """The model itself, or with a `CosineHead` of a direction per class where the loss takes cosines."""
    size = embedding_size(plan)
    return model if size is None else Headed(model, CosineHead(size, num_classes))


def score_scale(plan: Plan) -> float:
    """What outputs are multiplied by before the softmax: the loss's scale where they are cosines, else 1."""
    return 1.0 if embedding_size(plan) is None else float(plan["loss.options.scale"])
