"""Averaged and otherwise followed copies of a model: do their batch norms still hold what they were made with."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.anatomy import BATCH_NORMS
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, safely
from torchstone.engines.attach.wheels import Wheel

# Copies that are followed, steps between two looks, and values of the first weight by which a change is seen.
MOST, EVERY, VALUES = 8, 10, 16


@dataclass
class Copy:
    """A model that was set to evaluation: values of its first weight at the last look, and its row."""

    values: Tensor
    row: Row


class Averaged:
    """One row "copy" for each model with batch norms that is no part of an optimizer and is set to evaluation."""

    def __init__(self, recorder: Recorder, optimizers: Optimizers) -> None:
        self.recorder, self._optimizers = recorder, optimizers
        self._copies: weakref.WeakKeyDictionary[nn.Module, Copy] = weakref.WeakKeyDictionary()
        optimizers.on_step.append(self._step)

    def attach(self, patches: Patches) -> None:
        """Wraps nn.Module.eval, which calls itself on no child."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def eval(module: Any) -> Any:
                result = original(module)
                if not torch.compiler.is_compiling():
                    self._see(module)
                return result

            return eval

        patches.replace(nn.Module, "eval", make)

    @safely
    def _see(self, module: nn.Module) -> None:
        first = next(module.parameters(), None)
        if first is None or first.is_meta or not fresh(module):
            return
        if module in self._copies or len(self._copies) >= MOST:
            return
        row = self.recorder.note("copy", num_norms=len(fresh(module)), num_changes=0, place=self.recorder.place(
            f"copy {len(self._copies)}"), **{"class": type(module).__name__})  # fmt: skip
        self._copies[module] = Copy(first.detach().reshape(-1)[:VALUES].clone(), row)

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        if self.recorder.step % EVERY:
            return
        for module, copy in list(self._copies.items()):
            norms, first = fresh(module), next(module.parameters())
            copy.row["num_norms"] = len(norms)
            if not norms or module.training or any(id(p) in self._optimizers.owner for p in module.parameters()):
                del self._copies[module]  # it is fed, or trained: no copy that stands beside
                copy.row["num_norms"] = 0
                continue
            now = first.detach().reshape(-1)[:VALUES].clone()
            copy.row["num_changes"] += not torch.equal(now, copy.values)
            copy.row["at_step"], copy.values = self.recorder.step, now


def fresh(module: nn.Module) -> list[nn.Module]:
    """Its batch norms whose statistics are those that they were made with: mean 0 and variance 1 throughout."""
    return [m for m in module.modules() if isinstance(m, BATCH_NORMS) and is_new(m.running_mean, m.running_var)]


def is_new(mean: Tensor | None, variance: Tensor | None) -> bool:
    """Whether running statistics are exactly those at the start."""
    return mean is not None and variance is not None and not bool(mean.any()) and bool(variance.eq(1).all())
