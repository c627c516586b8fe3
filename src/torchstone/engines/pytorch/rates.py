"""What a schedule sets before each step: every group's learning rate, and momentum where the schedule moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import WithMomentum
from torchstone.parts.schedules.plateau import Plateau

if TYPE_CHECKING:
    import torch

    from torchstone.engines.pytorch.job import Job
    from torchstone.engines.pytorch.progress import Progress


def set_rates(job: Job, progress: Progress) -> list[float]:
    """Writes the learning rate of the next optimizer step into every group, and returns them."""
    schedule, groups = job.schedule, job.optimizer.param_groups
    if isinstance(schedule, Plateau):
        multiplier = schedule.at(progress.schedule, progress.step, job.total_steps)
    else:
        multiplier = schedule(progress.step, job.total_steps)
    rates = []
    for group, rate in zip(groups, job.base_rates, strict=True):
        group["lr"] = rate * multiplier
        rates.append(group["lr"])
    if isinstance(schedule, WithMomentum):
        set_momentum(job.optimizer, schedule.momentum(progress.step, job.total_steps))
    return rates


def set_momentum(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """Writes momentum into every group: `momentum`, or the first of `betas`; it must have one (`check_momentum`)."""
    for group in optimizer.param_groups:
        if "betas" in group:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


def check_momentum(schedule: Any, optimizer: torch.optim.Optimizer) -> None:
    """Raises StoneError where the schedule moves momentum and the optimizer has none, or has it turned off."""
    if not isinstance(schedule, WithMomentum):
        return
    for group in optimizer.param_groups:
        own = group["betas"][0] if "betas" in group else group.get("momentum", 0.0)
        if not own:
            raise StoneError(
                "the schedule moves momentum, and this optimizer has none", where="schedule.momentum",
                fix="set schedule.momentum to null, or take an optimizer with momentum: sgd, adamw",
            )  # fmt: skip
