"""What sampled steps did: the gradient of the watched weights, the optimizer's own count, the size of the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers, first_values, parameters_of
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.wheels import Wheel

# Own steps of an optimizer at which the gradients of all layers are written down.
PROFILES = (21, 61, 201)
# Layers of a profile that are written.
LAYERS = 200
# Sizes of the process that are kept of the time asleep; beyond, every second one is dropped and half as many taken.
SIZES = 256


class Movement:
    """Lays a few keys into the rows of sampled steps, and writes a row "profile" of the layers at a few of them."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models = recorder, models
        self._sizes: dict[str, Any] | None = None
        self._turns, self._every = 0, 1
        optimizers.on_step.append(self._step)
        recorder.on_turn.append(self._turn)

    def _turn(self) -> None:
        """The size of the process while the doctor sleeps, in a row of its own."""
        size = resident_mib() if self._turns % self._every == 0 else None
        self._turns += 1
        if size is None:
            return
        if self._sizes is None:
            self._sizes = self.recorder.note("sizes", steps=[], memory_mib=[])
        self._sizes["steps"].append(self.recorder.step)
        self._sizes["memory_mib"].append(size)
        if len(self._sizes["steps"]) >= SIZES:
            self._every *= 2
            del self._sizes["steps"][1::2], self._sizes["memory_mib"][1::2]

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        optimizer = wheel.ref()
        if "update_ratio" not in row or optimizer is None:
            return
        row["memory_mib"] = resident_mib()
        trained = [p for p in parameters_of(optimizer) if p.requires_grad]
        largest = max(trained, key=lambda parameter: parameter.numel())
        if largest.grad is not None and not largest.grad.is_sparse and not hasattr(largest, "to_local"):
            row["part_dtype"] = str(largest.dtype).removeprefix("torch.")
            self.recorder.later(row, "part_grad", first_values(largest.grad).float().abs().max())
            self.recorder.later(row, "part_size", first_values(largest).float().square().mean().sqrt())
        self._count(wheel, optimizer, row)
        if wheel.steps in PROFILES:
            self._profile(wheel, trained)

    def _count(self, wheel: Wheel, optimizer: torch.optim.Optimizer, row: dict[str, Any]) -> None:
        """The steps that the optimizer itself has counted for the parameter that is followed."""
        own = optimizer.state.get(wheel.sentinel, {}) if wheel.sentinel is not None else {}
        count = own.get("step") if isinstance(own, dict) else None
        if isinstance(count, Tensor) and count.numel() == 1:
            self.recorder.later(row, "state_step", count.clone())
        elif isinstance(count, (int, float)):
            row["state_step"] = float(count)

    @torch.no_grad()
    def _profile(self, wheel: Wheel, trained: list[Tensor]) -> None:
        """Norms of gradient and weights of each matrix, from the input to the output as the model lists them."""
        names = self._models.names()
        order = {known: place for place, known in enumerate(names)}
        kept = [p for p in trained if p.ndim >= 2 and p.grad is not None and not p.grad.is_sparse and id(p) in names]
        kept.sort(key=lambda parameter: order[id(parameter)])
        if len(kept) < 2 or any(hasattr(p, "to_local") for p in kept):
            return
        kept = kept[:LAYERS]
        grads = torch.stack([n.float() for n in torch._foreach_norm([p.grad for p in kept if p.grad is not None])])
        weights = torch.stack([n.float() for n in torch._foreach_norm([p.detach() for p in kept])])
        self.recorder.note(
            "profile", optimizer=wheel.index, own_step=wheel.steps, layers=[names[id(p)] for p in kept],
            grads=grads.tolist(), weights=weights.tolist(),
        )  # fmt: skip


def resident_mib() -> float | None:
    """Memory of this process that lies in the host's RAM; None on systems without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
