"""What every loss must keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from torchstone.engines.pytorch.losses import Loss


def check_loss(loss: Loss, logits: Tensor, target: Tensor, *, cuts: int = 3) -> None:
    """Raises AssertionError where a loss breaks the contract that the loop builds on.

    logits: float64 [B, …] with B of at least `cuts`, target: what fits. Checked: the derivative against differences;
    the same sum, weight and gradient however the batch is cut; a finite single-precision sum from half precision;
    a weight that carries no gradient. A loss marked as one over whole batches (`losses.whole_batch`) is not cut.
    """
    import torch

    from torchstone.engines.pytorch.losses import needs_whole_batch

    leaf = logits.detach().double().requires_grad_()
    total, weight = loss(leaf, target)
    assert total.ndim == 0, "the sum must be one number"
    assert not getattr(weight, "requires_grad", False), "the weight must not carry a gradient"
    assert torch.autograd.gradcheck(lambda x: loss(x, target)[0], (leaf,)), "the derivative is wrong"
    (whole,) = torch.autograd.grad(total, leaf)
    if not needs_whole_batch(loss):
        _same_in_parts(loss, leaf, target, cuts, (total.item(), float(weight), whole))
    for dtype in (torch.float16, torch.bfloat16):
        half, _ = loss(logits.to(dtype), target)
        assert half.dtype == torch.float32, f"the sum of {dtype} logits must be float32"
        assert bool(half.isfinite()), f"the sum of {dtype} logits must be finite"


def _same_in_parts(loss: Loss, leaf: Tensor, target: Tensor, cuts: int, whole: tuple[float, float, Tensor]) -> None:
    import torch

    total, weight = 0.0, 0.0
    gradient = torch.zeros_like(leaf)
    for rows in torch.arange(len(leaf)).chunk(cuts):
        part, part_weight = loss(leaf[rows], target[rows])
        gradient += torch.autograd.grad(part, leaf)[0]
        total, weight = total + part.item(), weight + float(part_weight)
    assert abs(total - whole[0]) <= 1e-9 * max(1.0, abs(whole[0])), "the sum depends on how the batch is cut"
    assert abs(weight - whole[1]) <= 1e-5 * max(1.0, abs(whole[1])), "the weight depends on how the batch is cut"
    assert torch.allclose(gradient, whole[2], rtol=1e-9, atol=1e-12), "the gradient depends on how the batch is cut"
