"""Looks for flat places: the gradient is taken uphill from the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._around import Around, inner

BASES = ("sgd", "adam", "adamw", "lion", "lamb", "nadam", "radam", "rmsprop", "adafactor")


def sam(
    groups: Groups,
    *,
    base: str = "sgd",
    rho: float = 0.05,
    adaptive: bool = False,
    lr: float | None = None,
    weight_decay: float = 0.0,
    base_options: dict[str, Any] | None = None,
) -> torch.optim.Optimizer:
    """Sharpness-aware minimisation around another optimizer (Foret et al. 2021): two gradients for each step.

    `step(closure)`, where closure clears the gradients, computes them anew and returns the loss; or by hand: gradients,
    `first_step()`, gradients again, `second_step()`. A plain `step()` raises StoneError: it would leave SAM out.

    base: the optimizer that steps; base_options: its options beside lr and weight_decay. rho: how far uphill, in
    units of the weights; starting point, tune on your data. adaptive: uphill in proportion to each weight (Kwon et
    al. 2021), with a rho about ten times larger. lr: None for the base's own.
    """
    if not rho > 0:
        raise StoneError(f"rho is {rho:g}; it must be above 0", where="optimizer.rho", fix="start at 0.05")
    options = {**(base_options or {}), "weight_decay": weight_decay, **({} if lr is None else {"lr": lr})}
    return Sam(inner(groups, base, options, BASES), rho, adaptive=adaptive)


class Sam(Around):
    """SAM around `parts[0]`; between the two steps it holds a copy of the weights, which no checkpoint needs."""

    def __init__(self, base: torch.optim.Optimizer, rho: float, *, adaptive: bool) -> None:
        super().__init__([base])
        self.rho, self.adaptive = rho, adaptive
        self._kept: list[tuple[torch.Tensor, torch.Tensor]] = []

    @torch.no_grad()
    def first_step(self) -> None:
        """Moves the weights rho uphill along their gradients, and remembers where they were."""
        weights = [p for p in self._parameters() if p.grad is not None]
        self._kept = [(weight, weight.detach().clone()) for weight in weights]
        if not weights:
            return
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if self.adaptive:
            gradients = list(torch._foreach_mul(gradients, torch._foreach_abs(weights)))
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        climbs = list(torch._foreach_mul(gradients, self.rho / (norm + 1e-12)))
        if self.adaptive:
            torch._foreach_mul_(climbs, torch._foreach_abs(weights))
        torch._foreach_add_(weights, climbs)

    @torch.no_grad()
    def second_step(self) -> None:
        """Puts the weights back, exactly, and lets the base step with the gradients that are there now."""
        self.go_back()
        self.parts[0].step()

    @torch.no_grad()
    def go_back(self) -> None:
        """Puts the weights back where they were before `first_step`, when the second gradients cannot be used."""
        for weight, kept in self._kept:
            weight.copy_(kept)
        self._kept = []

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Both steps; `closure` computes the second gradients. Returns its loss."""
        if closure is None:
            raise StoneError("sam needs two gradients for each step; step() has only one", where="optimizer",
                             fix="call step(closure), or first_step() and second_step()")
        self.first_step()
        with torch.enable_grad():
            loss = closure()
        self.second_step()
        return loss
