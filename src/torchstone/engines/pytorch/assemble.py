"""From a plan and a dataset to a job that is ready to run."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.core.dataset import Dataset, Split
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.core.task import Task
from torchstone.engines.pytorch import groups, heads, losses, machine
from torchstone.engines.pytorch.adapters import Adapter
from torchstone.engines.pytorch.averaging import Averaging
from torchstone.engines.pytorch.batch import Source
from torchstone.engines.pytorch.difficulty import difficulty_for
from torchstone.engines.pytorch.feed import EACH_ONCE, Feed
from torchstone.engines.pytorch.freezing import freeze, frozen_modules
from torchstone.engines.pytorch.inits import initialise
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.engines.pytorch.optimizers.schedule_free import Averaged, ScheduleFree
from torchstone.engines.pytorch.rates import check_momentum
from torchstone.engines.pytorch.recompute import recompute
from torchstone.engines.pytorch.ruler import Ruler, ruler_for
from torchstone.engines.pytorch.saver import Saver
from torchstone.engines.pytorch.shrinkage import shrinkage
from torchstone.engines.pytorch.stopping import stop_on
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.sync_batchnorm import check_windows, synchronised
from torchstone.engines.pytorch.training_rows import TrainingRows, refuse_difficulty, training_rows
from torchstone.engines.pytorch.unfreezing import unfreezing
from torchstone.engines.pytorch.weights import given
from torchstone.parts import metrics
from torchstone.parts.samplers import ByDifficulty

ROOM = "torchstone.engines.pytorch"


@dataclass(frozen=True)
class Setting:
    """What a job is assembled from. cache: the folder for decoded pictures, or None for none."""

    plan: Plan
    dataset: Dataset
    task: Task
    encoding: dict[str, Any]
    cache: Path | None


def fit_encoding(setting: Setting) -> dict[str, Any]:
    """What the input encoding learns on the training rows: JSON values only."""
    room, lent = _source_room(setting), given.lent(setting.plan, setting.task.modality)
    tokenizer = {"tokenizer": lent["tokenizer"]} if lent and setting.task.modality == "text" else {}
    encoding: dict[str, Any] = room.fit(setting.dataset, setting.plan, **tokenizer)
    return given.lend(encoding, lent, str(setting.plan.get(given.FIELD)))


def _source_room(setting: Setting) -> Any:
    name = "text_folder" if setting.plan.get("model.options.folder") else setting.task.modality
    return importlib.import_module(f"{ROOM}.sources.{name}")


def open_source(setting: Setting) -> Source:
    """The examples as batches."""
    room = _source_room(setting)
    extra = {"cache_folder": setting.cache} if setting.task.modality == "image" else {}
    source: Source = room.open_source(setting.dataset, setting.encoding, setting.plan, **extra)
    return source


def build_model(setting: Setting) -> nn.Module:
    """The model with its first weights; raises StoneError where an option does not fit the data."""
    num_outputs = 1 if setting.task.target == "number" else len(setting.dataset.classes)
    num_built = heads.embedding_size(setting.plan) or num_outputs
    shape = _source_room(setting).shape(setting.encoding, num_built)
    part = catalog.find(f"{ROOM}.models", setting.plan["model.name"])
    options, weights = given.apart(part, setting.plan.section("model.options"))
    try:
        model: nn.Module = part(shape, **options)
    except (ValueError, AssertionError) as error:
        name = setting.plan["model.name"]
        raise StoneError(f"the model cannot be built: {error}", where=f"model {name}") from error
    if weights is not None:
        given.give(model, weights, setting.task.modality, setting.encoding)
    return heads.with_head(model, setting.plan, num_outputs)


def start(plan: Plan, strategy: str | None = None) -> Strategy:
    """Threads, memory, determinism, device and processes of this rank; call it once, before `assemble`.

    strategy: instead of the plan's.
    """
    machine.set_up(plan["train.threads"], deterministic=plan["train.deterministic"])
    keep_freed_pages()
    device = machine.pick_device(plan["train.device"])
    name = strategy or plan["train.strategy"]
    minutes = plan.get("train.rank_timeout_minutes")
    options = {"timeout_minutes": minutes} if name == "ddp" and minutes else {}
    started: Strategy = catalog.find(f"{ROOM}.strategies", name)(device, **options)
    return started


def assemble(setting: Setting, strategy: Strategy, saver: Saver | None = None) -> Job:
    """The job of a plan; the same call on every rank."""
    plan = setting.plan
    seed = int(plan["train.seed"])
    seed_generators(seed)
    loss = _loss(plan)
    built = build_model(setting)
    initialise(built, plan)
    _adapt(plan, built)
    model = losses.with_weights_of(loss, synchronised(built) if plan.get("train.sync_batchnorm") else built)
    frozen = freeze(model, plan.get("train.freeze") or [])
    releases = unfreezing(model, plan.get("train.unfreeze"), int(plan["train.epochs"]))
    frozen = frozen if releases is None else frozen_modules(model)
    if plan.get("train.recompute"):
        recompute(model)
    model = strategy.wrap(model)
    optimizer, rates = _optimizer(plan, model)
    schedule = _part(plan, "schedule", "torchstone.parts.schedules")
    check_momentum(schedule, optimizer)
    training = training_rows(setting.dataset, setting.encoding, plan, open_source(setting))
    feed = _feed(setting, training, strategy)
    _check_shares(plan, loss, feed)
    if plan.get("train.sync_batchnorm"):
        check_windows(feed, int(plan["train.epochs"]))
    job = Job(
        model=model,
        loss=loss,
        optimizer=optimizer,
        schedule=schedule,
        feed=feed,
        epochs=int(plan["train.epochs"]),
        strategy=strategy,
        precision=catalog.find(f"{ROOM}.precisions", plan["train.precision"])(strategy.device),
        validation=validation_of(setting, training.source, "validation"),
        saver=saver,
        average=_average(plan, model, optimizer),
        clip_norm=float(plan["train.clip_norm"]),
        clipping=_part(plan, "clipping", f"{ROOM}.clipping"),
        shrinkage=shrinkage(model, optimizer, plan.get("train.l1") or 0.0, plan.get("parameters.groups") or ()),
        patience=int(plan["train.patience"]),
        stop_on=stop_on(plan, has_validation=bool(len(setting.dataset.rows("validation")))),
        frozen=frozen,
        unfreezing=releases,
        sample_every=int(plan["train.sample_every"]),
        names=training.name,
        base_rates=rates,
        ruler=_ruler(setting, training.source, feed, loss),
    )
    if releases is not None:
        releases.at(model, 0)
    # from here on the global generator serves dropout alone, and each rank draws its own
    seed_generators((seed + 1) * 1_000_003 + strategy.rank)
    return job


def seed_generators(seed: int) -> None:
    """The global generators of torch, Python and numpy: the feed draws from none of them."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def _part(plan: Plan, piece: str, folder: str, *arguments: Any) -> Any:
    """The part that a plan names for a field, with its options; None where the plan does without."""
    name = plan.get(f"{piece}.name")
    return catalog.find(folder, name)(*arguments, **plan.section(f"{piece}.options")) if name else None


def _adapt(plan: Plan, model: nn.Module) -> None:
    """Puts the adapter in, after the first weights are set: they are looked up by the names of plain layers."""
    adapter: Adapter | None = _part(plan, "adapter", f"{ROOM}.adapters")
    if adapter is None:
        return
    if plan.get("train.unfreeze"):
        raise StoneError("an adapter keeps the rest frozen; train.unfreeze would thaw it", where="train.unfreeze",
                         fix="leave one of the two out")
    adapter(model)


def _loss(plan: Plan) -> losses.Loss:
    loss: losses.Loss = _part(plan, "loss", f"{ROOM}.losses")
    if losses.needs_whole_batch(loss) and plan["train.accumulate"] > 1:
        raise StoneError(
            f"{plan['loss.name']} compares the examples of a batch; cut into {plan['train.accumulate']} micro-batches "
            "it is another loss", where="train.accumulate", fix="set train.accumulate to 1",
        )  # fmt: skip
    return loss


def _check_shares(plan: Plan, loss: losses.Loss, feed: Feed) -> None:
    """A rank without an example would keep the others waiting where a loss gathers what all ranks hold."""
    smallest = min(len(rows) for rows in feed.window_rows(0))
    if losses.needs_whole_batch(loss) and feed.world > 1 and smallest < 2 * feed.world:
        raise StoneError(
            f"{plan['loss.name']} compares examples, and the smallest batch of an epoch has {smallest} for "
            f"{feed.world} processes", where="train.batch_size",
            fix="choose one that leaves no small rest of the training examples, or use fewer processes",
        )  # fmt: skip


def _average(plan: Plan, model: nn.Module, optimizer: torch.optim.Optimizer) -> Averaging | None:
    name = plan.get("averaging.name")
    if isinstance(optimizer, ScheduleFree):
        if name:
            raise StoneError(f"schedule_free averages the weights itself; {name} would average them twice",
                             where="averaging", fix="leave averaging out")
        return Averaged(model, optimizer)
    made: Averaging | None = _part(plan, "averaging", f"{ROOM}.averaging", model)
    return made


def _optimizer(plan: Plan, model: nn.Module) -> tuple[torch.optim.Optimizer, list[float]]:
    options = plan.section("optimizer.options")
    parameters, _ = groups.parameter_groups(
        model, weight_decay=options.get("weight_decay", 0.0), rules=plan.get("parameters.groups") or (),
        layer_decay=plan.get("parameters.layer_decay") or 1.0, apart_hidden=plan["optimizer.name"] == "muon",
    )  # fmt: skip
    if plan["optimizer.name"] == "muon" and not any(group["name"].startswith("hidden") for group in parameters):
        raise StoneError("muon is for hidden weights with two axes; this model has none", where="optimizer",
                         fix="use adamw, which muon would be here")
    if plan["optimizer.name"] == "sam" and plan["train.precision"] == "fp16":
        raise StoneError("sam takes two gradients a step, of which a loss scaler can judge one only", where="optimizer",
                         fix="set train.precision to bf16 or fp32")
    part = catalog.find(f"{ROOM}.optimizers", plan["optimizer.name"])
    try:
        optimizer: torch.optim.Optimizer = part(parameters, **options)
    except (ValueError, AssertionError) as error:
        name = plan["optimizer.name"]
        raise StoneError(f"the optimizer cannot be built: {error}", where=f"optimizer {name}") from error
    return optimizer, groups.scaled_rates(optimizer)


def _feed(setting: Setting, training: TrainingRows, strategy: Strategy) -> Feed:
    plan, rows = setting.plan, training.rows
    num_classes = len(setting.dataset.classes)
    sampler = _part(plan, "sampler", "torchstone.parts.samplers") or EACH_ONCE
    refuse_difficulty(plan, isinstance(sampler, ByDifficulty))
    return Feed(
        sampler=sampler, difficulty=difficulty_for(sampler, setting.dataset, rows, int(plan["train.epochs"])),
        labels=training.labels if setting.task.target == "single" else None,
        mix=_part(plan, "mix", f"{ROOM}.mixes", num_classes),
        source=training.source, rows=rows, batch_size=min(int(plan["train.batch_size"]), len(rows)),
        seed=int(plan["train.seed"]), accumulate=int(plan["train.accumulate"]),
        workers=int(plan["train.workers"]), rank=strategy.rank, world=strategy.world,
    )  # fmt: skip


def _ruler(setting: Setting, source: Source, feed: Feed, loss: losses.Loss) -> Ruler | None:
    if not isinstance(feed.sampler, ByDifficulty) or feed.sampler.is_given:
        return None
    examples = validation_of(setting, source, "train")
    assert examples is not None
    return ruler_for(examples, setting.task, loss)


def validation_of(setting: Setting, source: Source, split: Split) -> Validation | None:
    """How a split is judged; None where it has no examples."""
    rows = setting.dataset.rows(split)
    if not len(rows):
        return None
    kind = setting.task.target
    return Validation(
        source=source,
        rows=rows,
        batch_size=int(setting.plan["train.eval_batch_size"]),
        decode=decoder(setting),
        target=setting.dataset.target[rows],
        metrics={name: catalog.find("torchstone.parts.metrics", name) for name in metrics.metrics_for(kind)},
        metric=setting.plan["metric"],
        direction=metrics.direction(setting.plan["metric"]),
    )


def decoder(setting: Setting) -> Callable[[Tensor], np.ndarray]:
    """logits [N, K] → probabilities [N, K]; for a number [N, 1] → the number in its own unit [N]."""
    if setting.task.target == "single":
        scale = heads.score_scale(setting.plan)
        return lambda logits: torch.softmax(scale * logits, dim=1).numpy()
    if setting.task.target == "multi":
        return lambda logits: torch.sigmoid(logits).numpy()
    mean, std = setting.encoding["target_mean"], setting.encoding["target_std"]
    return lambda logits: logits[:, 0].double().numpy() * std + mean
