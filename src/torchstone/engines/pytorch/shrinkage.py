"""An L1 penalty that makes weights exactly 0 (`train.l1`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.groups import decaying
from torchstone.engines.pytorch.optimizers.schedule_free import ScheduleFree


class Shrinkage:
    """Takes rate * strength off the size of each weight after the optimizer's step; what would change sign becomes 0.

    This is the proximal step of strength * (sum of |w|) (Duchi & Singer 2009, Efficient Online and Batch Learning
    Using Forward Backward Splitting). With plain SGD the run minimises loss + strength * (sum of |w|). Why not the
    penalty's subgradient, strength * sign(w), added to the gradient: the weights then jump around 0 and are never 0
    (same paper); and Adam would divide it by the size of recent gradients, so that weights with large gradients are
    hardly shrunk, as Loshchilov & Hutter 2019 show for L2. Here one strength means the same for every weight under
    every optimizer, as with the decoupled weight decay of adamw. Under Adam the run ends where Adam's step is
    balanced by the strength, which is not exactly the minimum above (for that the threshold would be divided as the
    step is: Yun, Lozano & Yang 2021, Adaptive Proximal Gradient Methods; weights without gradients would then
    vanish at once).

    The rate is that of the weight's group at this step: schedule, `lr_scale` and `layer_decay` count.
    """

    def __init__(self, weights: Sequence[nn.Parameter], strength: float) -> None:
        self.strength = strength
        self._chosen = {id(weight) for weight in weights}

    @torch.no_grad()
    def __call__(self, optimizer: torch.optim.Optimizer) -> None:
        """Shrinks the chosen weights that have a gradient, in place."""
        for group in optimizer.param_groups:
            weights = [p for p in group["params"] if p.grad is not None and id(p) in self._chosen]
            threshold = float(group["lr"]) * self.strength
            if weights and threshold:
                taken = torch._foreach_clamp_max(weights, threshold)
                torch._foreach_clamp_min_(taken, -threshold)
                torch._foreach_sub_(weights, taken)


def shrinkage(
    model: nn.Module, optimizer: torch.optim.Optimizer, strength: float, rules: Sequence[Mapping[str, Any]] = ()
) -> Shrinkage | None:
    """L1 of this strength on the weights that decay, or would if there were a weight decay; None for strength 0.

    rules: those of `parameters.groups`: what has weight_decay 0 there is left out. Raises StoneError where no weight
    is left to shrink, or the optimizer takes its steps elsewhere.
    """
    if not strength:
        return None
    if isinstance(optimizer, ScheduleFree):
        raise StoneError("schedule_free steps from weights that the loop does not see, so that l1 would be undone",
                         where="train.l1", fix="leave train.l1 out, or use adamw or sgd")
    weights = decaying(model, rules)
    if not weights:
        raise StoneError("no weight decays here, so that l1 has nothing to act on", where="train.l1")
    return Shrinkage(weights, strength)
