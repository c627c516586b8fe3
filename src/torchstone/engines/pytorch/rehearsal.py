"""What would keep a plan from becoming a job, found on a model without numbers and on targets of zeros.

It calls what `assemble` calls, so that a plan refuses in the words in which a training would.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.core.task import Task
from torchstone.engines.pytorch import heads, machine
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.difficulty import difficulty_for
from torchstone.engines.pytorch.feed import EACH_ONCE
from torchstone.engines.pytorch.fitting import (
    average_of,
    fitted,
    loss_of,
    made_optimizer,
    optimizer_of,
    part_of,
    schedule_of,
)
from torchstone.engines.pytorch.losses import Loss
from torchstone.engines.pytorch.model_size import on_meta
from torchstone.engines.pytorch.ruler import check_measurable
from torchstone.engines.pytorch.sources import text_folder
from torchstone.engines.pytorch.stopping import stop_on
from torchstone.engines.pytorch.training_rows import refuse_difficulty, refuse_small_classes
from torchstone.engines.pytorch.trial_build import toy_groups
from torchstone.parts.samplers import ByDifficulty

# Settings that look for something in the model: only for them it is built once more.
OF_THE_MODEL = (
    "adapter.name", "init.name", "train.freeze", "train.unfreeze", "train.sync_batchnorm", "parameters.groups",
    "parameters.layer_decay", "train.recompute",
)  # fmt: skip


@dataclass(frozen=True)
class Rehearsed:
    """What a rehearsal is of. shape: of the model's inputs and outputs, before an encoding is learnt."""

    plan: Plan
    dataset: Dataset
    task: Task
    shape: Shape


def refusals(rehearsed: Rehearsed) -> list[StoneError]:
    """Everything that `assemble` would raise of plan and data, but for what only given weights or ranks can tell.

    A setting that acts on the model is tried where the model can be built without data. No generator moves.
    """
    checks: tuple[Callable[[Rehearsed], object], ...] = (
        _try_machine, _try_texts, _try_loss, _try_validation, _try_rows, _try_order, _try_model,
    )  # fmt: skip
    random_state = torch.random.get_rng_state()
    try:
        return list(itertools.chain.from_iterable(_raised(check, rehearsed) for check in checks))
    finally:
        torch.random.set_rng_state(random_state)


def _raised(check: Callable[[Rehearsed], object], rehearsed: Rehearsed) -> Iterator[StoneError]:
    try:
        check(rehearsed)
    except StoneError as error:
        yield error


def _try_machine(rehearsed: Rehearsed) -> None:
    machine.known_device(rehearsed.plan["train.device"])


def _try_texts(rehearsed: Rehearsed) -> None:
    if rehearsed.plan.get("model.options.folder"):
        text_folder.open_folder(rehearsed.plan)


def _try_loss(rehearsed: Rehearsed) -> None:
    """Calls the loss once, as a step does: it looks at shapes and at the numbers of its own options."""
    num, target = max(rehearsed.shape.num_outputs, 1), rehearsed.task.target
    classes = torch.zeros(2, dtype=torch.int64)
    targets = {"single": classes, "multi": torch.zeros(2, num), "number": torch.zeros(2)}
    _loss(rehearsed)(torch.zeros(2, num, requires_grad=True), targets[target])


def _loss(rehearsed: Rehearsed) -> Loss:
    return loss_of(rehearsed.plan)


def _try_validation(rehearsed: Rehearsed) -> None:
    stop_on(rehearsed.plan, has_validation=bool(len(rehearsed.dataset.rows("validation"))))


def _try_rows(rehearsed: Rehearsed) -> None:
    if rehearsed.task.target == "single":
        refuse_small_classes(rehearsed.plan, rehearsed.dataset.target[rehearsed.dataset.rows("train")])


def _try_order(rehearsed: Rehearsed) -> None:
    plan, rows = rehearsed.plan, rehearsed.dataset.rows("train")
    sampler = part_of(plan, "sampler", "torchstone.parts.samplers") or EACH_ONCE
    refuse_difficulty(plan, isinstance(sampler, ByDifficulty))
    difficulty_for(sampler, rehearsed.dataset, rows, int(plan["train.epochs"]))
    if isinstance(sampler, ByDifficulty) and not sampler.is_given:
        check_measurable(rehearsed.task, _loss(rehearsed))


def _try_model(rehearsed: Rehearsed) -> None:
    plan = rehearsed.plan
    model = _model(rehearsed) if _acts_on_model(plan) else None
    if model is None:
        model = nn.Linear(2, 2)
        optimizer, _ = made_optimizer(plan, toy_groups())
    else:
        model = fitted(_with_fresh_weights(plan), model, _loss(rehearsed)).model
        optimizer, _ = optimizer_of(plan, model)
    schedule_of(plan, optimizer)
    average_of(plan, model, optimizer)


def _acts_on_model(plan: Plan) -> bool:
    return plan["optimizer.name"] == "muon" or any(plan.get(field) for field in OF_THE_MODEL)


def _model(rehearsed: Rehearsed) -> nn.Module | None:
    plan, num_outputs = rehearsed.plan, rehearsed.shape.num_outputs
    shape = replace(rehearsed.shape, num_outputs=heads.embedding_size(plan) or num_outputs)
    model = on_meta(plan["model.name"], shape, plan.section("model.options"))
    with torch.device("meta"):
        return None if model is None else heads.with_head(model, plan, num_outputs)


def _with_fresh_weights(plan: Plan) -> Plan:
    """The plan without `init` where weights are given: only they can tell what is left for it to set."""
    given: Any = plan.get("model.options.weights")
    if given is None or not plan.get("init.name"):
        return plan
    return Plan({field: choice for field, choice in plan.choices.items() if field != "init.name"})
