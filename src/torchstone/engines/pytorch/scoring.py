"""Evaluation: every example exactly once, in eval mode, for any batch size and any number of ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from torchstone.engines.pytorch.feed import cut
from torchstone.engines.pytorch.freezing import modes_kept
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.recalibration import holding

# Classes up to which a validation says how often each was the answer: the trace holds a number for each.
MOST_CLASSES = 200


@dataclass(frozen=True)
class Scores:
    """rows int64 [N]; scores float32 [N, K] or [N]; loss: sum over targets / weight; num of expected examples."""

    rows: np.ndarray
    scores: np.ndarray
    loss: float
    num: int
    expected: int

    def answers(self, target: np.ndarray) -> list[int] | None:
        """How often each of K classes was the answer; None where targets are no class numbers or K is too large."""
        is_classes = self.scores.ndim == 2 and target.ndim == 1 and target.dtype.kind in "iu"
        if not is_classes or self.scores.shape[1] > MOST_CLASSES or not len(self.scores):
            return None
        counts: list[int] = np.bincount(self.scores.argmax(1), minlength=self.scores.shape[1]).tolist()
        return counts


@contextlib.contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Eval mode inside the block; afterwards every module has the mode that it had, also frozen ones."""
    with modes_kept(model):
        model.eval()
        yield


def score(job: Job, validation: Validation) -> Scores:
    """Scores the rows of a validation, shared out over the ranks without padding, gathered in order."""
    mine = cut(validation.rows, job.strategy.world)[job.strategy.rank]
    logits, loss_sum, weight = [], 0.0, 0.0
    with in_eval_mode(job.model), torch.inference_mode():
        for start in range(0, len(mine), validation.batch_size):
            batch = validation.source.batch(mine[start : start + validation.batch_size], None)
            inputs = tuple(value.to(job.strategy.device) for value in batch.inputs)
            with job.precision.autocast():
                output = job.model(*inputs)
                total, count = job.loss(output, batch.target.to(job.strategy.device))
            logits.append(output.float().cpu())
            loss_sum += float(total)
            weight += float(count)
    loss_sum, weight = job.strategy.sums([loss_sum, weight])
    local = torch.cat(logits) if logits else torch.zeros((0, *_output_shape(job, validation)))
    whole = torch.cat(job.strategy.gather(local.clone()))
    loss = loss_sum / weight if weight else float("nan")
    return Scores(validation.rows, validation.decode(whole), loss, len(whole), len(validation.rows))


def _output_shape(job: Job, validation: Validation) -> tuple[int, ...]:
    """The shape of one example's logits, for a rank that has no example of its own."""
    with in_eval_mode(job.model), torch.inference_mode():
        batch = validation.source.batch(validation.rows[:1], None)
        output = job.model(*(value.to(job.strategy.device) for value in batch.inputs))
    return tuple(output.shape[1:])


def exported_state(job: Job) -> dict[str, torch.Tensor]:
    """The weights as they are trained, with buffers that all ranks agree on."""
    return _agreed(job, dict(job.model.state_dict()))


def averaged_state(job: Job) -> dict[str, torch.Tensor] | None:
    """The averaged weights, with buffers that all ranks agree on; None where the job does not average.

    BatchNorm's statistics among them are measured anew where the average asks for it.
    """
    if job.average is None:
        return None
    state = _agreed(job, job.average.state())
    return {**state, **job.statistics.of(job, state)} if job.average.recalibrate else state


def _agreed(job: Job, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    buffers = {name for name, _ in job.model.named_buffers()} & state.keys()
    return {**state, **job.strategy.agreed({name: state[name] for name in buffers})}


@contextlib.contextmanager
def agreed_weights(job: Job) -> Iterator[None]:
    """The weights that are judged: averaged ones if the job averages, buffers agreed over ranks.

    Afterwards every rank has its own weights and buffers again, bit for bit.
    """
    if job.average is None and job.strategy.world == 1:
        yield
        return
    with holding(job.model, averaged_state(job) or exported_state(job)):
        yield
