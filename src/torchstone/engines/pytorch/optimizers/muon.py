"""Orthogonal steps for hidden matrices, AdamW for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._around import Around
from torchstone.engines.pytorch.optimizers.adamw import adamw


def muon(
    groups: Groups,
    *,
    lr: float = 1e-3,
    momentum: float = 0.95,
    betas: tuple[float, float] = (0.9, 0.95),
    weight_decay: float = 0.1,
) -> torch.optim.Optimizer:
    """Momentum made orthogonal for hidden weights with two axes (Jordan et al. 2024), AdamW for all others, as one.

    Muon takes the groups named `hidden` (`groups.parameter_groups(…, apart_hidden=True)`: weights of layers between
    the first and the last); where no group has a name, every parameter with two axes. Its step is scaled to the
    size of AdamW's (0.2 sqrt(larger side), Liu et al. 2025), so that one lr and one weight_decay serve both.

    lr: starting point, tune on your data. momentum: of Muon, Nesterov's. betas: of AdamW. weight_decay: decoupled;
    of groups without their own. torch's own implementations.
    """
    hidden, others = split(list(groups))
    parts: list[torch.optim.Optimizer] = []
    if hidden:
        parts.append(torch.optim.Muon(
            hidden, lr=lr, momentum=momentum, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"
        ))
    if others:
        parts.append(adamw(others, lr=lr, betas=betas, weight_decay=weight_decay))
    return Muon(parts)


class Muon(Around):
    """Several optimizers that step together."""

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of each part."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss


def split(groups: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The groups for Muon and for AdamW; where none has a name, each is cut by the axes of its parameters."""
    is_named = any("name" in group for group in groups)
    hidden: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for group in groups:
        if is_named:
            (hidden if _is_hidden(group) else others).append(group)
            continue
        parameters = list(group["params"])
        for kind, chosen in ((hidden, [p for p in parameters if p.ndim == 2]),
                             (others, [p for p in parameters if p.ndim != 2])):
            if chosen:
                kind.append({**group, "params": chosen})
    return hidden, others


def _is_hidden(group: dict[str, Any]) -> bool:
    return str(group.get("name", "")).startswith("hidden")
