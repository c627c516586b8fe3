"""Means that the script takes by a formula of its own in evaluation, one for each batch, and adds up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass, num_examples
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.scores import unequal_means

# Batches of a pass whose means are kept.
BATCHES = 4096


class Means:
    """Follows Tensor.mean over a batch's examples, without gradients; what was added up is in the pass's row."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder, self._loaders = recorder, loaders
        self._of: Pass | None = None
        self._sizes: list[int] = []
        self._sites: dict[tuple[int, int], list[Tensor]] = {}
        loaders.on_batch.append(self._batch)
        loaders.on_pass.append(self._end)

    def attach(self, patches: Patches) -> None:
        """Wraps the method; torch.mean is left alone."""
        recorder = self.recorder

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def mean(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
                result = original(tensor, *args, **kwargs)
                if self._of is not None and recorder.is_on and not torch.is_grad_enabled() and type(result) is Tensor:
                    frame = sys._getframe(1)
                    self._see((id(frame.f_code), frame.f_lineno), tensor, result)
                return result

            return mean

        patches.replace(Tensor, "mean", make)

    def _batch(self, one: Pass, batch: Any) -> None:
        if one.row["backwards"]:
            self._of = None
            return
        if one is not self._of:
            self._of, self._sizes, self._sites = one, [], {}
        self._sizes.append(num_examples(batch))

    @safely
    def _see(self, site: tuple[int, int], tensor: Tensor, result: Tensor) -> None:
        is_of_batch = result.ndim == 0 and tensor.ndim > 0 and len(self._sizes) <= BATCHES
        if is_of_batch and self._sizes and len(tensor) == self._sizes[-1] and self._of is self._loaders.current:
            self._sites.setdefault(site, []).append(result.detach())

    def _end(self, one: Pass) -> None:
        """Into the row of an evaluation over unequal batches: which sum of their means the script holds."""
        if one is not self._of:
            return
        self._of, sizes, sites = None, self._sizes, self._sites
        if one.row["backwards"] or len(set(sizes)) < 2 or len(sizes) != one.row["batches"]:
            return
        for means in sites.values():
            if len(means) == len(sizes):
                seen = unequal_means(torch.stack(means).double().tolist(), sizes)
                if seen["added_up"]:
                    one.row["own_means"] = seen
                    return
