"""Evaluation: every example exactly once, in eval mode, for any batch size and any number of ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from torchstone.engines.pytorch.feed import cut
from torchstone.engines.pytorch.job import Job, Validation


@dataclass(frozen=True)
class Scores:
    """rows int64 [N]; scores float32 [N, K] or [N]; loss: sum over targets / weight; num of expected examples."""

    rows: np.ndarray
    scores: np.ndarray
    loss: float
    num: int
    expected: int


@contextlib.contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Eval mode inside the block; afterwards every module has the mode that it had, also frozen ones."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


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


@contextlib.contextmanager
def agreed_weights(job: Job) -> Iterator[None]:
    """The weights that are judged and exported: averaged if the job averages, buffers agreed over ranks.

    Afterwards every rank has its own weights and buffers again, bit for bit.
    """
    with contextlib.ExitStack() as stack:
        if job.average is not None:
            stack.enter_context(job.average.swapped())
        elif job.strategy.world > 1:
            agreed = job.strategy.agreed_state(job.model)
            buffers = dict(job.model.named_buffers())
            kept = {name: value.clone() for name, value in buffers.items()}
            with torch.no_grad():
                for name in buffers.keys() & agreed.keys():
                    buffers[name].copy_(agreed[name])
            stack.callback(_restore, buffers, kept)
        yield


@torch.no_grad()
def _restore(buffers: dict[str, torch.Tensor], kept: dict[str, torch.Tensor]) -> None:
    for name, value in buffers.items():
        value.copy_(kept[name])
