"""The plain mean of weights that lie apart: stochastic weight averaging."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.averaging import BATCHES


class Mean:
    """The mean of the weights as they were at several moments of the run; before the first of them, the weights.

    Float buffers are averaged along and integer ones copied; BatchNorm's are of no use unless `recalibrate` is 0.
    """

    def __init__(self, model: nn.Module, start: float, every: int, batches: int) -> None:
        self._start, self._every, self._batches, self.num = start, every, batches, 0
        self._live = dict(model.state_dict(keep_vars=True))
        self._mean = {name: value.detach().clone() for name, value in self._live.items()}

    @property
    def recalibrate(self) -> int:
        """Batches for BatchNorm's statistics; 0 before the first collection, when the model's own are right."""
        return self._batches if self.num else 0

    def update(self, step: int, total: int) -> None:
        """Collects the weights if it is time, where time is told in steps."""
        first = self._first(total)
        if self._every and step + 1 >= first and (step + 1 - first) % self._every == 0:
            self._collect()

    def end_epoch(self, epoch: int, epochs: int) -> None:
        """Collects the weights if it is time, where time is told in epochs."""
        if not self._every and epoch + 1 >= self._first(epochs):
            self._collect()

    def _first(self, whole: int) -> int:
        return max(1, math.ceil(self._start * whole - 1e-9))

    @torch.no_grad()
    def _collect(self) -> None:
        for name, value in self._live.items():
            if self.num and value.is_floating_point():
                self._mean[name].lerp_(value, 1 / (self.num + 1))
            else:
                self._mean[name].copy_(value)
        self.num += 1

    def state(self) -> dict[str, Tensor]:
        """The mean by the model's names, as this rank has it; the weights themselves before the first collection."""
        return dict(self._mean) if self.num else {name: value.detach() for name, value in self._live.items()}

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor], num: int) -> None:
        """Takes over a saved mean of `num` collections."""
        self.num = num
        for name, value in state.items():
            self._mean[name].copy_(value)


def swa(model: nn.Module, *, start: float = 0.75, every: int = 0, recalibrate: int = BATCHES) -> Mean:
    """Mean of the weights collected from a share of the run on (Izmailov et al. 2018), each counting alike.

    It needs weights that still move: take the schedule `constant`, or `cosine_restarts` with a collection at each
    end. Under a schedule that falls to 0 the mean is of nearly equal weights.

    start: share of the run after which weights are collected, 0 to below 1; the paper's is 0.75 of the usual length.
    every: optimizer steps between collections; 0: at the end of each epoch, as in the paper.
    recalibrate: training batches from which BatchNorm's statistics are measured whenever the mean is judged or saved
    (the paper, section 3.2); 0: they are averaged like weights, which is wrong for them.
    """
    if not 0 <= start < 1 or every < 0 or recalibrate < 0:
        raise StoneError(
            f"start {start:g}, every {every}, recalibrate {recalibrate}: start must be from 0 to below 1, the others 0 "
            "or more", where="averaging", fix=f"leave them out for 0.75, 0 and {BATCHES}",
        )  # fmt: skip
    return Mean(model, start, every, recalibrate)
