"""Adam for very large batches."""

from __future__ import annotations

from typing import Any

import torch

from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._listed import Listed


def lamb(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-6,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """Adam's step, brought to the length of each weight tensor (You et al. 2020, algorithm 2).

    A tensor w moves by lr * |w| / |r| * r, where r is Adam's step plus weight_decay * w; where w or r is zero, by
    lr * r. For batches of thousands. lr: starting point, tune on your data; the paper grows it with the root of the
    batch. betas, eps: the paper's. weight_decay: of groups without their own.
    """
    return Lamb(groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})


class Lamb(Listed):
    """LAMB over lists of tensors; its state is `mean`, `square` (types of the weight) and `step` (float32)."""

    def move(self, weights: list[torch.Tensor], gradients: list[torch.Tensor], group: dict[str, Any]) -> None:
        """Along Adam's steps, each brought to the length of its tensor."""
        _move(weights, self._adam_steps(weights, gradients, group), group["lr"])

    def _adam_steps(
        self, weights: list[torch.Tensor], gradients: list[torch.Tensor], group: dict[str, Any]
    ) -> list[torch.Tensor]:
        states = [self.state[weight] for weight in weights]
        for weight, state in zip(weights, states, strict=True):
            if not state:
                state["step"] = torch.tensor(0.0)
                state["mean"], state["square"] = torch.zeros_like(weight), torch.zeros_like(weight)
        counts, means, squares = ([state[key] for state in states] for key in ("step", "mean", "square"))
        torch._foreach_add_(counts, 1)
        keep, keep_square = group["betas"]
        torch._foreach_lerp_(means, gradients, 1 - keep)
        torch._foreach_mul_(squares, keep_square)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - keep_square)
        # mean / bias over (root of square / its bias + eps), the biases taken together: one pass less over memory
        biases = [1 - keep**count for count in torch.stack(counts).tolist()]
        others = [(1 - keep_square**count) ** 0.5 for count in torch.stack(counts).tolist()]
        roots = torch._foreach_sqrt(squares)
        torch._foreach_mul_(roots, [bias / other for bias, other in zip(biases, others, strict=True)])
        torch._foreach_add_(roots, [group["eps"] * bias for bias in biases])
        steps = torch._foreach_div(means, roots)
        if group["weight_decay"]:
            torch._foreach_add_(steps, weights, alpha=group["weight_decay"])
        return list(steps)


def _move(weights: list[torch.Tensor], steps: list[torch.Tensor], lr: float) -> None:
    weight, step = (torch.stack(torch._foreach_norm(values)) for values in (weights, steps))
    trusts = torch.where((weight > 0) & (step > 0), weight / step, 1.0)
    torch._foreach_mul_(steps, list((trusts * -lr).unbind()))
    torch._foreach_add_(weights, steps)
