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
from torchstone.engines.pytorch import heads, losses, machine
from torchstone.engines.pytorch.batch import Source
from torchstone.engines.pytorch.difficulty import difficulty_for
from torchstone.engines.pytorch.feed import EACH_ONCE, Feed
from torchstone.engines.pytorch.fitting import average_of, fitted, loss_of, optimizer_of, part_of, schedule_of
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.memory import keep_freed_pages
from torchstone.engines.pytorch.ruler import Ruler, ruler_for
from torchstone.engines.pytorch.saver import Saver
from torchstone.engines.pytorch.seen import Seen
from torchstone.engines.pytorch.shrinkage import shrinkage
from torchstone.engines.pytorch.stopping import stop_on
from torchstone.engines.pytorch.strategies import Strategy
from torchstone.engines.pytorch.sync_batchnorm import check_windows
from torchstone.engines.pytorch.training_rows import TrainingRows, refuse_difficulty, training_rows
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
    if setting.plan.get(given.FIELD) is not None:
        given.remark_on_classes(model, setting.plan[given.FIELD], setting.dataset.classes)
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
    options = {"timeout_minutes": minutes} if name != "single" and minutes else {}
    started: Strategy = catalog.find(f"{ROOM}.strategies", name)(device, **options)
    return started


def assemble(setting: Setting, strategy: Strategy, saver: Saver | None = None) -> Job:
    """The job of a plan; the same call on every rank."""
    plan = setting.plan
    seed = int(plan["train.seed"])
    seed_generators(seed)
    loss = loss_of(plan)
    made = fitted(plan, build_model(setting), loss)
    model, releases = strategy.wrap(made.model), made.releases
    optimizer, rates = optimizer_of(plan, model)
    strategy.share(optimizer)
    training = training_rows(setting.dataset, setting.encoding, plan, open_source(setting))
    feed = _feed(setting, training, strategy)
    _check_shares(plan, loss, feed)
    if plan.get("train.sync_batchnorm"):
        check_windows(feed, int(plan["train.epochs"]))
    job = Job(
        model=model,
        loss=loss,
        optimizer=optimizer,
        schedule=schedule_of(plan, optimizer),
        feed=feed,
        epochs=int(plan["train.epochs"]),
        strategy=strategy,
        precision=catalog.find(f"{ROOM}.precisions", plan["train.precision"])(strategy.device),
        validation=validation_of(setting, training.source, "validation"),
        saver=saver,
        average=average_of(plan, model, optimizer),
        clip_norm=float(plan["train.clip_norm"]),
        clipping=part_of(plan, "clipping", f"{ROOM}.clipping"),
        shrinkage=shrinkage(model, optimizer, plan.get("train.l1") or 0.0, plan.get("parameters.groups") or ()),
        patience=int(plan["train.patience"]),
        stop_on=stop_on(plan, has_validation=bool(len(setting.dataset.rows("validation")))),
        frozen=made.frozen,
        unfreezing=releases,
        sample_every=int(plan["train.sample_every"]),
        names=training.name,
        base_rates=rates,
        ruler=_ruler(setting, training.source, feed, loss),
        seen=Seen(setting.dataset, len(setting.dataset) + len(training.made)),
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


def _check_shares(plan: Plan, loss: losses.Loss, feed: Feed) -> None:
    """A rank without an example would keep the others waiting where a loss gathers what all ranks hold."""
    smallest = min(len(rows) for rows in feed.window_rows(0))
    if losses.needs_whole_batch(loss) and feed.world > 1 and smallest < 2 * feed.world:
        raise StoneError(
            f"{plan['loss.name']} compares examples, and the smallest batch of an epoch has {smallest} for "
            f"{feed.world} processes", where="train.batch_size",
            fix="choose one that leaves no small rest of the training examples, or use fewer processes",
        )  # fmt: skip


def _feed(setting: Setting, training: TrainingRows, strategy: Strategy) -> Feed:
    plan, rows = setting.plan, training.rows
    num_classes = len(setting.dataset.classes)
    sampler = part_of(plan, "sampler", "torchstone.parts.samplers") or EACH_ONCE
    refuse_difficulty(plan, isinstance(sampler, ByDifficulty))
    return Feed(
        sampler=sampler, difficulty=difficulty_for(sampler, setting.dataset, rows, int(plan["train.epochs"])),
        labels=training.labels if setting.task.target == "single" else None,
        mix=part_of(plan, "mix", f"{ROOM}.mixes", num_classes),
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
