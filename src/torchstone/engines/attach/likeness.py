"""Whether ranks that should hold the same weights do, and whether they are dealt different data.

Each rank leaves a few of its numbers in the store through which the process group was built, and looks later at what
the others left there: nobody waits for anybody, and no collective call is added to the script's own.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import torch

from torchstone.engines.attach.loaders import Loaders, Pass, num_ranks, tensors_of
from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers, parameters_of
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.wheels import Wheel

# Steps after which weights are left in the store, and the first steps whose batches are.
CHECKS, BATCHES = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (1, 2, 3)
# Numbers of a rank's weights that are left, and ranks that are looked at.
VALUES, MOST_RANKS = 64, 8
# Steps for which another rank's numbers are looked for.
PATIENCE = 40


class Likeness:
    """Rows "alike": how far this rank's weights are from another's, or how many first batches were the same."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers, loaders: Loaders) -> None:
        self.recorder, self._models = recorder, models
        self._wanted: list[tuple[str, int, list[float]]] = []
        self._batch: float | None = None
        optimizers.on_step.append(self._step)
        loaders.on_batch.append(self._see)

    def _see(self, one: Pass, batch: Any) -> None:
        if self.recorder.step <= BATCHES[-1] and num_ranks() > 1:
            first = next((t for t in tensors_of(batch) if t.ndim >= 2 and t.numel()), None)
            if first is not None and first.device.type == "cpu" and first.unique().numel() > 2:  # type: ignore[no-untyped-call]
                self._batch = float(zlib.crc32(first.detach().contiguous().view(torch.uint8).numpy().tobytes()))

    @safely
    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        step, optimizer = self.recorder.step, wheel.ref()
        if optimizer is None or num_ranks() < 2:
            return
        if step in CHECKS:
            values = sample(parameters_of(optimizer))
            if values:
                self._leave(f"weights/{step}", values)
        if step in BATCHES and self._batch is not None:
            self._leave(f"batch/{step}", [self._batch])
        if self._wanted:
            self._look()

    def _leave(self, what: str, values: list[float]) -> None:
        store, rank = torch.distributed.distributed_c10d._get_default_store(), torch.distributed.get_rank()
        store.set(f"torchstone/{what}/{rank}", json.dumps(values))
        others = [other for other in range(min(num_ranks(), MOST_RANKS)) if other != rank]
        self._wanted += [(f"torchstone/{what}/{other}", self.recorder.step, values) for other in others[:2]]

    def _look(self) -> None:
        """At what the others have left so far; what is late is looked for again after the next steps."""
        store = torch.distributed.distributed_c10d._get_default_store()
        still = []
        for key, step, mine in self._wanted:
            if store.check([key]):
                self._compare(key, step, mine, json.loads(store.get(key)))
            elif self.recorder.step - step < PATIENCE:
                still.append((key, step, mine))
        self._wanted = still

    def _compare(self, key: str, step: int, mine: list[float], theirs: list[float]) -> None:
        _, what, _, other = key.split("/")
        spread = max((max(mine) - min(mine)) / 4, 1e-12)
        same_kind = len(mine) == len(theirs)
        apart = max((abs(a - b) for a, b in zip(mine, theirs, strict=False)), default=0.0)
        self.recorder.note(
            "alike", of=what, other=int(other), at_step=step, world=num_ranks(), is_same=mine == theirs,
            difference=apart / spread if what == "weights" and same_kind else None,
            wrappers=[root.row["wrapper"] for root in self._models.roots if root.row.get("wrapper")],
            collectives=self.recorder.count.get("collectives", 0),
        )  # fmt: skip


def sample(parameters: list[torch.Tensor]) -> list[float]:
    """Evenly spaced values of the trained matrices of an optimizer, one read of all; empty where they are sharded."""
    kept = [p for p in parameters if p.requires_grad and p.ndim >= 2 and p.numel() >= 2]
    if not kept or any(hasattr(p, "to_local") for p in kept):
        return []
    kept = kept[:: max(1, len(kept) // 8)][:8]
    parts = [p.detach().reshape(-1)[:: max(1, p.numel() // (VALUES // len(kept)))].float() for p in kept]
    return [float(value) for value in torch.cat(parts).tolist()]
