"""Whether processes that train together have anything to do with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.engines.attach.loaders import num_ranks
from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.wheels import Wheel

NAMES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor", "reduce",
    "broadcast", "all_to_all", "all_to_all_single", "send", "isend", "batch_isend_irecv",
)  # fmt: skip
# Steps after which it is written down.
STEPS = (5, 20)


class Ranks:
    """Counts the script's own collective calls, and writes one row where there are several processes."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models = recorder, models
        optimizers.on_step.append(self._step)

    def attach(self, patches: Patches) -> None:
        """Wraps the functions of torch.distributed that send tensors."""
        if not torch.distributed.is_available():
            return
        for name in NAMES:
            patches.replace(torch.distributed, name, self._wrapped)

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def send(*args: Any, **kwargs: Any) -> Any:
            if self.recorder.is_on:
                self.recorder.add("collectives")
            return original(*args, **kwargs)

        return send

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        if self.recorder.step not in STEPS or num_ranks() < 2:
            return
        modules = [module for root in self._models.roots if (module := root.ref()) is not None]
        self.recorder.note(
            "ranks", world=num_ranks(), collectives=self.recorder.count.get("collectives", 0),
            wrappers=[type(m).__name__ for m in modules if m.__class__.__module__.startswith("torch.nn.parallel")],
            is_sharded=any(hasattr(p, "to_local") for m in modules for p in m.parameters()),
            num_hooked=sum(bool(m.row.get("wrapper")) for m in self._models.roots),
        )  # fmt: skip
