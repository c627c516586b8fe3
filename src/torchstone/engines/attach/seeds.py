"""Whether the generator of the first weights and orders was given a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder


class Seeds:
    """Calls of torch.manual_seed, and of the default generator's own."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def attach(self, patches: Patches) -> None:
        """Wraps torch.manual_seed under both of its names, and set_rng_state, which sets as much."""
        for owner in (torch, torch.random):
            for name in ("manual_seed", "set_rng_state"):
                patches.replace(owner, name, self._wrapped)

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def seed(*args: Any, **kwargs: Any) -> Any:
            if self.recorder.is_on:
                self.recorder.add("seeds")
            return original(*args, **kwargs)

        return seed
