"""Checkpoints that are written and read: what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder

# Rows of saves that are written.
SAVES = 50


class Saving:
    """Calls of torch.save and torch.load."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def attach(self, patches: Patches) -> None:
        """Wraps both."""
        patches.replace(torch, "save", self._save)
        patches.replace(torch, "load", self._load)

    def _save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            recorder = self.recorder
            if recorder.is_on:
                recorder.add("saves")
                if recorder.count["saves"] <= SAVES:
                    name = str(f) if isinstance(f, (str, bytes)) or hasattr(f, "__fspath__") else type(f).__name__
                    recorder.note("save", path=name, place=recorder.place("save"), holds=sorted(contents(obj)))
            return original(obj, f, *args, **kwargs)

        return save

    def _load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            loaded = original(f, *args, **kwargs)
            recorder = self.recorder
            if recorder.is_on:
                recorder.add("loads")
                recorder.note("load", place=recorder.place("load"), holds=sorted(contents(loaded)))
            return loaded

        return load


def contents(thing: Any, depth: int = 0) -> set[str]:
    """What a saved object holds: "weights", "optimizer", "scheduler", "module" (a whole pickled model), "other"."""
    if isinstance(thing, torch.nn.Module):
        return {"module"}
    if isinstance(thing, torch.optim.Optimizer):
        return {"optimizer"}
    if isinstance(thing, (list, tuple)) and depth:  # as Lightning keeps the states of its optimizers
        return set().union(*(contents(value, depth + 1) for value in thing[:8] if not isinstance(value, Tensor)))
    if not isinstance(thing, Mapping):
        return {"other"}
    if {"state", "param_groups"} <= set(thing):
        return {"optimizer"}
    if "last_epoch" in thing and ("base_lrs" in thing or "_step_count" in thing):
        return {"scheduler"}
    if thing and all(isinstance(value, Tensor) for value in thing.values()):
        return {"weights"}
    if depth >= 3:
        return {"other"}
    found: set[str] = set()
    for value in thing.values():
        if isinstance(value, (Mapping, list, tuple, torch.nn.Module, torch.optim.Optimizer)):
            found |= contents(value, depth + 1)
    return found or {"other"}
