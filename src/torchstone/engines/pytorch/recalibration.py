"""BatchNorm's statistics measured anew: those of averaged weights are not the average of statistics.

The pass has only the BatchNorm layers in train mode, all else as in evaluation: no dropout, so that nothing is drawn
and the statistics are those that hold where the weights are used. The batches are those of the first epoch, each
example once and unmixed, with the augmentation of that epoch; the same at every call, so that two averages differ by
their weights alone, and a resumed run finds the same numbers.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from torchstone.engines.pytorch.feed import EACH_ONCE
from torchstone.engines.pytorch.freezing import modes_kept

if TYPE_CHECKING:
    from torchstone.engines.pytorch.job import Job

Norm = nn.modules.batchnorm._BatchNorm


class Statistics:
    """The statistics last measured, with the state of the average that they belong to; measured once for each."""

    def __init__(self) -> None:
        self._num = -1
        self._found: dict[str, Tensor] = {}

    def forget(self) -> None:
        """The average is another one now: a checkpoint was loaded."""
        self._num = -1

    def of(self, job: Job, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """BatchNorm's running_mean and running_var by the model's names, for these averaged weights.

        Equal on all ranks, each of which goes over its own share of the batches; every rank calls it. The model is
        afterwards what it was, bit for bit, and so are the generators.
        """
        assert job.average is not None
        if self._num != job.average.num:
            self._found, self._num = measured(job, state, job.average.recalibrate), job.average.num
        return self._found


def measured(job: Job, state: Mapping[str, Tensor], num_batches: int) -> dict[str, Tensor]:
    """The statistics over `num_batches` training batches, or one epoch if that is less, with `state` in the model."""
    layers = moving_norms(job)
    if not layers:
        return {}
    devices = [job.strategy.device] if job.strategy.device.type == "cuda" else []
    with holding(job.model, state), torch.random.fork_rng(devices), measuring(job.model, list(layers.values())) as seen:
        feed = replace(job.feed, sampler=EACH_ONCE, difficulty=None, mix=None)
        for window in itertools.islice(feed.epoch(0), num_batches):
            for batch in window.batches:
                seen.now = len(batch.rows)
                with torch.no_grad(), job.precision.autocast():
                    job.model(*(value.to(job.strategy.device) for value in batch.inputs))
        return {
            f"{name}.{key}": pooled(job, getattr(layer, key), seen.of.get(layer, 0), state[f"{name}.{key}"])
            for name, layer in layers.items() for key in ("running_mean", "running_var")
        }  # fmt: skip


def moving_norms(job: Job) -> dict[str, Any]:
    """The BatchNorm layers that keep statistics and are not frozen, by name."""
    frozen = {inner for module in job.resting for inner in module.modules()}
    return {
        name: module for name, module in job.model.named_modules()
        if isinstance(module, Norm) and module.running_mean is not None and module not in frozen
    }  # fmt: skip


def pooled(job: Job, mine: Tensor, num: int, before: Tensor) -> Tensor:
    """One statistic over all ranks, each weighed by the examples it saw; `before` where nobody saw any."""
    if job.strategy.world == 1:
        return mine.clone() if num else before.clone()
    weighed = (mine.double() * num).reshape(-1).tolist() if num else [0.0] * mine.numel()
    *sums, total = job.strategy.sums([*weighed, float(num)])
    if not total:
        return before.clone()
    return torch.tensor([value / total for value in sums], dtype=mine.dtype, device=mine.device).view_as(mine)


class _Seen:
    """Examples of the batch that is passing now, and of all that have passed each layer."""

    def __init__(self) -> None:
        self.now = 0
        self.of: dict[nn.Module, int] = {}

    def weigh(self, layer: Any, inputs: Any) -> None:
        """Before a layer's forward pass: each example is to count alike in its statistics, in any batch."""
        self.of[layer] = self.of.get(layer, 0) + self.now
        layer.momentum = self.now / self.of[layer]


@contextlib.contextmanager
def measuring(model: nn.Module, layers: Sequence[Any]) -> Iterator[_Seen]:
    """Inside the block these layers alone are in train mode, and their statistics are means over all that passes."""
    momenta = [layer.momentum for layer in layers]
    seen = _Seen()
    hooks = [layer.register_forward_pre_hook(seen.weigh) for layer in layers]
    try:
        with modes_kept(model):
            model.eval()
            for layer in layers:
                layer.train()
            yield seen
    finally:
        for hook in hooks:
            hook.remove()
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum


@contextlib.contextmanager
def holding(model: nn.Module, values: Mapping[str, Tensor]) -> Iterator[None]:
    """The model with these weights and buffers inside the block; afterwards with its own again, bit for bit."""
    live = model.state_dict(keep_vars=True)
    kept = {name: value.detach().clone() for name, value in live.items()}
    _put(live, values)
    try:
        yield
    finally:
        _put(live, kept)


@torch.no_grad()
def _put(live: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    for name, value in live.items():
        value.copy_(values[name])
