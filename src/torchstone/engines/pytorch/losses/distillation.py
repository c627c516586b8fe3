"""A small model learns what a large one says."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, like, made_for


@made_for("outputs of a teacher")
def distillation(*, temperature: float = 2.0) -> Loss:
    """Kullback-Leibler divergence of the model from its teacher, at a temperature, times its square, summed.

    Takes logits [B, K] and the teacher's logits [B, K] as target, K on the last axis; the weight counts examples.
    Raises StoneError for other shapes. The square keeps gradients of one size for every temperature (Hinton et al.
    2015, section 2). No gradient reaches the teacher.

    temperature: above 0; higher ones show more of how the teacher ranks wrong answers. Starting point.
    """
    if not temperature > 0:
        raise StoneError(f"temperature is {temperature:g}; it must be above 0", where="loss.temperature",
                         fix="start at 2.0")

    squared = temperature**2

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        if logits.shape != target.shape or logits.ndim < 2:
            raise StoneError(
                f"the model gives {tuple(logits.shape)}, its teacher {tuple(target.shape)}; they must be equal [B, K]",
                where="loss", fix="give the teacher's logits as target",
            )  # fmt: skip
        mine = functional.log_softmax(full(logits) / temperature, dim=-1)
        teacher = target.detach() if target.requires_grad else target
        wanted = functional.log_softmax(like(teacher, mine) / temperature, dim=-1)
        total = functional.kl_div(mine, wanted, reduction="sum", log_target=True)
        return total * squared, float(target.numel() / target.shape[-1])

    return loss
