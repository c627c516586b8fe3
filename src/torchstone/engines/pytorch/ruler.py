"""Measures how hard the training examples are for the model as it stands.

Legend of axes: N examples, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from torchstone.core.errors import StoneError
from torchstone.core.task import Task
from torchstone.engines.pytorch.losses import Loss, needs_whole_batch
from torchstone.engines.pytorch.scoring import agreed_weights, score
from torchstone.parts.samplers import ByDifficulty

if TYPE_CHECKING:
    from torchstone.engines.pytorch.job import Job, Validation
    from torchstone.engines.pytorch.progress import Progress

# The kinds of target for which one example has a loss of its own.
KINDS = ("single", "multi", "number")


@dataclass(frozen=True)
class Ruler:
    """What is measured: the training rows in the order of the feed, and how their scores become losses.

    losses: (scores, target) → float [N].
    """

    examples: Validation
    losses: Callable[[np.ndarray, np.ndarray], np.ndarray]


def ruler_for(examples: Validation, task: Task, loss: Loss) -> Ruler:
    """The ruler of a task; raises StoneError as `check_measurable`.

    For classes and labels it is cross-entropy whatever the run's loss is, so that class weights do not make rare
    classes hard.
    """
    check_measurable(task, loss)
    return Ruler(examples, partial(example_losses, kind=task.target))


def check_measurable(task: Task, loss: Loss) -> None:
    """Raises StoneError where one example has no loss of its own: by its task, or by what the loss compares."""
    if task.target not in KINDS or needs_whole_batch(loss):
        why = "the loss compares the examples of a batch" if task.target in KINDS else f"the task is {task.name}"
        raise StoneError(f"the sampler goes by the loss of each example, and here one alone has none: {why}",
                         where="sampler", fix="use the sampler shuffled")  # fmt: skip


def measure_if_due(job: Job, progress: Progress) -> None:
    """At the start of an epoch, if its sampler asks for it: each training example's loss; every rank calls it.

    In eval mode, without augmentation, with the weights that are trained (no average of them) and buffers that all
    ranks agree on. A run that was cut off within an epoch has its losses from the checkpoint. With another number of
    ranks or another eval_batch_size losses may differ in their last digits, and so may the order of close ones.
    """
    feed, ruler = job.feed, job.ruler
    if ruler is None or progress.window or not isinstance(feed.sampler, ByDifficulty):
        return
    if feed.sampler.is_due(progress.epoch):
        assert feed.difficulty is not None
        with agreed_weights(replace(job, average=None)):
            scores = score(job, ruler.examples).scores
        feed.difficulty.values = ruler.losses(scores, ruler.examples.target).astype(np.float64)


def num_measured(job: Job) -> int:
    """How often the run measures its examples."""
    sampler = job.feed.sampler
    return sum(map(sampler.is_due, range(job.epochs))) if isinstance(sampler, ByDifficulty) else 0


def order_remark(job: Job) -> str | None:
    """What a person should know of a sampler by difficulty: how many examples an epoch deals out, and what it costs."""
    if job.feed.difficulty is None:
        return None
    counts = [job.feed.num_in(epoch) for epoch in range(job.epochs)]
    text = f"{counts[0]:,} of {len(job.feed.rows):,} examples in the first epoch, {counts[-1]:,} in the last"
    num = num_measured(job)
    return text + (f"; the loss of each is measured {num:,} times" if num else "")


def example_losses(scores: np.ndarray, target: np.ndarray, kind: str) -> np.ndarray:
    """Per example, float32 [N]: negative log-probability; mean of it over labels; or squared error of a number."""
    tiny = 1e-12
    if kind == "number":
        with np.errstate(over="ignore"):  # a square beyond single precision counts as its largest number
            square = np.minimum((scores.astype(np.float64) - target) ** 2, np.finfo(np.float32).max)
        return np.asarray(square, dtype=np.float32)
    if kind == "single":
        return np.asarray(-np.log(np.maximum(scores[np.arange(len(target)), target], tiny)), dtype=np.float32)
    right = np.where(target > 0, scores, 1 - scores)
    return np.asarray(-np.log(np.maximum(right, tiny)).mean(axis=1), dtype=np.float32)
