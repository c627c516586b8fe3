"""The parts of a plan and its model fitted to each other: the same calls for a job and for its rehearsal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch import groups, losses
from torchstone.engines.pytorch.adapters import Adapter
from torchstone.engines.pytorch.averaging import Averaging
from torchstone.engines.pytorch.freezing import freeze, frozen_modules
from torchstone.engines.pytorch.inits import initialise
from torchstone.engines.pytorch.optimizers.schedule_free import Averaged, ScheduleFree
from torchstone.engines.pytorch.rates import check_momentum
from torchstone.engines.pytorch.recompute import recompute
from torchstone.engines.pytorch.sync_batchnorm import synchronised
from torchstone.engines.pytorch.unfreezing import Unfreezing, unfreezing

ROOM = "torchstone.engines.pytorch"


@dataclass(frozen=True)
class Fitted:
    """A model as it is trained, the modules of it that are frozen, and when frozen layers are released."""

    model: nn.Module
    frozen: Sequence[nn.Module]
    releases: Unfreezing | None


def part_of(plan: Plan, piece: str, folder: str, *arguments: Any) -> Any:
    """The part that a plan names for a field, with its options; None where the plan does without."""
    name = plan.get(f"{piece}.name")
    return catalog.find(folder, name)(*arguments, **plan.section(f"{piece}.options")) if name else None


def loss_of(plan: Plan) -> losses.Loss:
    """The loss of a plan; raises StoneError where it compares the examples of a batch that would be cut."""
    loss: losses.Loss = part_of(plan, "loss", f"{ROOM}.losses")
    if losses.needs_whole_batch(loss) and plan["train.accumulate"] > 1:
        raise StoneError(
            f"{plan['loss.name']} compares the examples of a batch; cut into {plan['train.accumulate']} micro-batches "
            "it is another loss", where="train.accumulate", fix="set train.accumulate to 1",
        )  # fmt: skip
    return loss


def fitted(plan: Plan, model: nn.Module, loss: losses.Loss) -> Fitted:
    """A model that was just built, as the plan trains it: first weights, adapter, BatchNorm, frozen layers, blocks.

    Raises StoneError where a setting finds nothing in this model to act on, or settings exclude each other.
    """
    initialise(model, plan)
    _adapt(plan, model)
    model = losses.with_weights_of(loss, synchronised(model) if plan.get("train.sync_batchnorm") else model)
    frozen = freeze(model, plan.get("train.freeze") or [])
    releases = unfreezing(model, plan.get("train.unfreeze"), int(plan["train.epochs"]))
    frozen = frozen if releases is None else frozen_modules(model)
    if plan.get("train.recompute"):
        recompute(model)
    return Fitted(model, frozen, releases)


def _adapt(plan: Plan, model: nn.Module) -> None:
    """Puts the adapter in, after the first weights are set: they are looked up by the names of plain layers."""
    adapter: Adapter | None = part_of(plan, "adapter", f"{ROOM}.adapters")
    if adapter is None:
        return
    if plan.get("train.unfreeze"):
        raise StoneError("an adapter keeps the rest frozen; train.unfreeze would thaw it", where="train.unfreeze",
                         fix="leave one of the two out")
    adapter(model)


def optimizer_of(plan: Plan, model: nn.Module) -> tuple[torch.optim.Optimizer, list[float]]:
    """The optimizer over a fitted model, and the rate of each of its groups; raises StoneError where it is unfit."""
    options = plan.section("optimizer.options")
    parameters, _ = groups.parameter_groups(
        model, weight_decay=options.get("weight_decay", 0.0), rules=plan.get("parameters.groups") or (),
        layer_decay=plan.get("parameters.layer_decay") or 1.0, apart_hidden=plan["optimizer.name"] == "muon",
    )  # fmt: skip
    if plan["optimizer.name"] == "muon" and not any(group["name"].startswith("hidden") for group in parameters):
        raise StoneError("muon is for hidden weights with two axes; this model has none", where="optimizer",
                         fix="use adamw, which muon would be here")
    return made_optimizer(plan, parameters)


def made_optimizer(plan: Plan, parameters: Sequence[Any]) -> tuple[torch.optim.Optimizer, list[float]]:
    """The optimizer of a plan over parameter groups, and the rate of each; raises StoneError where it is unfit."""
    name = plan["optimizer.name"]
    if name == "sam" and plan["train.precision"] == "fp16":
        raise StoneError("sam takes two gradients a step, of which a loss scaler can judge one only", where="optimizer",
                         fix="set train.precision to bf16 or fp32")
    part = catalog.find(f"{ROOM}.optimizers", name)
    try:
        optimizer: torch.optim.Optimizer = part(parameters, **plan.section("optimizer.options"))
    except (ValueError, AssertionError) as error:
        raise StoneError(f"the optimizer cannot be built: {error}", where=f"optimizer {name}") from error
    return optimizer, groups.scaled_rates(optimizer)


def schedule_of(plan: Plan, optimizer: torch.optim.Optimizer) -> Any:
    """The schedule of a plan; raises StoneError where it moves a momentum that the optimizer does not have."""
    schedule = part_of(plan, "schedule", "torchstone.parts.schedules")
    check_momentum(schedule, optimizer)
    return schedule


def average_of(plan: Plan, model: nn.Module, optimizer: torch.optim.Optimizer) -> Averaging | None:
    """The average of the weights, None for none; raises StoneError where the optimizer keeps one already."""
    name = plan.get("averaging.name")
    if isinstance(optimizer, ScheduleFree):
        if name:
            raise StoneError(f"schedule_free averages the weights itself; {name} would average them twice",
                             where="averaging", fix="leave averaging out")
        return Averaged(model, optimizer)
    made: Averaging | None = part_of(plan, "averaging", f"{ROOM}.averaging", model)
    return made
