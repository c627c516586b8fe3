"""Averaged weights instead of a falling rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.averaging import BATCHES
from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._around import Around, inner

# Optimizers without a momentum that could not be turned off, and how it is turned off: the average takes its place.
BASES: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.0}, "adamw": {"betas": (0.0, 0.999)}, "adam": {"betas": (0.0, 0.999)}, "rmsprop": {},
    "adafactor": {},
}  # fmt: skip


def schedule_free(
    groups: Groups,
    *,
    base: str = "adamw",
    beta: float = 0.9,
    lr: float | None = None,
    weight_decay: float = 0.0,
    base_options: dict[str, Any] | None = None,
) -> torch.optim.Optimizer:
    """Steps of another optimizer at z, gradients at y between z and the average x of all z (Defazio et al. 2024).

    While training the weights are y = (1 - beta) z + beta x; `eval()` puts x into them, which is what one judges and
    keeps, `train()` puts y back (the loop takes x from `Averaged` instead). A z counts in the average by its squared
    rate, so that a warm-up counts little. Use it with the schedule `constant` and a warm-up. BatchNorm's statistics
    belong to y: the loop measures them anew at x, from 200 training batches, as the authors' code asks.

    base: the optimizer at z, its momentum off; weight_decay acts at z. base_options: its options beside lr and
    weight_decay. beta: 0 to below 1; 0.9 is the paper's. lr: None for the base's own; the paper finds a larger one
    best, 1 to 10 times that of a falling schedule.
    """
    if not 0 <= beta < 1:
        raise StoneError(f"beta is {beta:g}; it must be from 0 to below 1", where="optimizer.beta", fix="start at 0.9")
    given = {**BASES.get(base, {}), **(base_options or {}), "weight_decay": weight_decay}
    options = given if lr is None else {**given, "lr": lr}
    return ScheduleFree(inner(groups, base, options, tuple(BASES)), beta)


class ScheduleFree(Around):
    """Schedule-free steps around `parts[0]`; per weight it keeps `z` and `x`, per group `weight_sum`."""

    def __init__(self, base: torch.optim.Optimizer, beta: float) -> None:
        super().__init__([base])
        self.beta = beta
        # averages x by weight → those of all weights; a strategy that shares out the state puts its own here
        self.collect: Callable[[dict[torch.Tensor, torch.Tensor]], Mapping[torch.Tensor, torch.Tensor]] = dict
        self.is_training = True
        for group in self.param_groups:
            group.setdefault("weight_sum", 0.0)

    def _extra_names(self) -> tuple[str, ...]:
        return ("z", "x")

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of the base at z; raises StoneError between `eval()` and `train()`."""
        if not self.is_training:
            raise StoneError("the weights are the averaged ones", where="optimizer", fix="call train() before step()")
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        moved = [[w for w in group["params"] if w.grad is not None] for group in self.param_groups]
        for weight in (w for weights in moved for w in weights):
            if weight not in self.extra:
                self.extra[weight] = {name: weight.detach().clone() for name in self._extra_names()}
            weight.copy_(self.extra[weight]["z"])
        self.parts[0].step()
        for group, weights in zip(self.param_groups, moved, strict=True):
            share = self._share(group)
            for weight in weights:
                held = self.extra[weight]
                held["z"].copy_(weight)
                held["x"].lerp_(held["z"], share)
                torch.lerp(held["z"], held["x"], self.beta, out=weight)
        return loss

    @staticmethod
    def _share(group: dict[str, Any]) -> float:
        """How much the newest z counts in the average: its squared rate over the sum of all."""
        size = float(group["lr"]) ** 2
        group["weight_sum"] += size
        return size / group["weight_sum"] if group["weight_sum"] else 0.0

    @torch.no_grad()
    def eval(self) -> None:
        """Puts the averaged weights into the model; a second call does nothing."""
        if self.is_training:
            for weight, held in self.extra.items():
                weight.copy_(held["x"])
        self.is_training = False

    @torch.no_grad()
    def train(self) -> None:
        """Puts the weights back at which gradients are taken, bit for bit; a second call does nothing."""
        if not self.is_training:
            for weight, held in self.extra.items():
                torch.lerp(held["z"], held["x"], self.beta, out=weight)
        self.is_training = True


class Averaged:
    """The averaged weights x of a schedule-free optimizer, as the loop judges and saves an average of weights.

    They are kept by the optimizer, so that there is nothing to update or load; buffers are the model's own, but for
    BatchNorm's statistics: those are measured anew from `recalibrate` training batches.
    """

    def __init__(self, model: nn.Module, optimizer: ScheduleFree, recalibrate: int = BATCHES) -> None:
        self._batches, self.num = recalibrate, 0
        self._live = dict(model.state_dict(keep_vars=True))
        self._optimizer = optimizer

    @property
    def recalibrate(self) -> int:
        """Batches for BatchNorm's statistics; 0 before the first step, when the model's own are right."""
        return self._batches if self.num else 0

    def update(self, step: int, total: int) -> None:
        """The optimizer has done it."""
        self.num += 1

    def end_epoch(self, epoch: int, epochs: int) -> None:
        """The optimizer has followed every step."""

    def state(self) -> dict[str, torch.Tensor]:
        """x by the model's names; what no step has moved yet as it is."""
        held = self._optimizer.collect({weight: held["x"] for weight, held in self._optimizer.extra.items()})
        return {name: held.get(value, value.detach()) for name, value in self._live.items()}

    def load(self, state: Mapping[str, torch.Tensor], num: int) -> None:
        """The optimizer's own state has it."""
        self.num = num
