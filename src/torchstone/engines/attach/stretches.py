"""Evaluations outside of loaders, teachers that are not trained any more, and layers that are made while others run."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.anatomy import BATCH_NORMS
from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, safely, users_frames, users_line
from torchstone.engines.attach.wheels import Wheel

# Stretches that are written.
ROWS = 60
# Layers with weights, and dropout: made in a forward pass they are new each time.
LAYERS = (nn.Linear, nn.modules.conv._ConvNd, nn.Embedding, nn.RNNBase, nn.Bilinear, nn.MultiheadAttention)
_FRAMES = 12
# Words in the names of a line or its function that say that it evaluates.
WORDS = frozenset(("val", "valid", "validation", "validate", "eval", "evaluate", "evaluation", "test", "dev"))


class Stretches:
    """Forward passes without gradients between two backward passes, one row for each such stretch."""

    def __init__(
        self, recorder: Recorder, models: Models, optimizers: Optimizers, backwards: Backwards, losses: Losses
    ) -> None:
        self.recorder, self._models = recorder, models
        self._open: dict[int, Row] = {}
        self._losses = 0
        self._num = 0
        self._quiet: dict[int, int] = {}
        self._owners: dict[int, set[int]] = {}
        self._optimizers = optimizers
        models.on_forward.append(self._forward)
        losses.on_call.append(self._loss)
        backwards.on_every_backward.append(self._backward)
        optimizers.on_step.append(self._step)

    def attach(self, patches: Patches) -> None:
        """Looks at modules that are built while another one's forward pass runs."""

        def make(original: Callable[..., None]) -> Callable[..., None]:
            def __init__(module: nn.Module, *args: Any, **kwargs: Any) -> None:
                original(module, *args, **kwargs)
                if self.recorder.step >= 2 and isinstance(module, LAYERS):
                    self._see_made(module)

            return __init__

        patches.replace(nn.Module, "__init__", make)

    @safely
    def _see_made(self, module: nn.Module) -> None:
        frame = sys._getframe(2)
        for _ in range(_FRAMES):
            if frame.f_code.co_name == "forward" and isinstance(frame.f_locals.get("self"), nn.Module):
                owner = type(frame.f_locals["self"]).__name__
                self.recorder.add("layers_made")
                if self.recorder.count["layers_made"] <= 10:
                    self.recorder.note("made_inside", layer=type(module).__name__, owner=owner, place=users_line())
                return
            if frame.f_back is None:
                return
            frame = frame.f_back

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if root.has_grad and root.training:
            self._look_inside(root)
        if root.has_grad or self.recorder.step == 0 or not root.has_modes:
            return
        row = self._open.setdefault(root.index, {"root": root.index, "forwards": 0, "in_training": 0, "losses": 0})
        row["forwards"] += 1
        row["in_training"] += bool(root.training)
        row.setdefault("place", self.recorder.place(f"stretch {root.index}"))
        if root.training and "named" not in row and self._num < ROWS:
            row["named"] = named_evaluation()
        if root.training and self.recorder.is_awake:  # asleep, steps are not seen either
            quiet = self._quiet[root.index] = self._quiet.get(root.index, 0) + 1
            root.row["quiet_in_training"] = max(quiet, root.row.get("quiet_in_training", 0))

    def _look_inside(self, root: Root) -> None:
        """At the first pass: how many batch norms are in train mode, and which weights are copies of an embedding."""
        module = root.ref()
        if "batch_norms" in root.row or module is None:
            return
        root.row["batch_norms"] = sum(isinstance(m, BATCH_NORMS) and m.training for m in module.modules())
        root.row["copies"] = copies(module)

    def _loss(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        last = self._models.last
        if not input.requires_grad and not torch.is_grad_enabled() and last is not None and last.index in self._open:
            self._open[last.index]["losses"] += 1

    def _backward(self, loss: Tensor) -> None:
        if not self._open:
            return
        for row in self._open.values():
            self._num += 1
            if self._num <= ROWS:
                self.recorder.note("stretch", **row)
        self._open.clear()

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        """A root that an optimizer moves is nobody's fixed teacher."""
        for root in self._models.roots:
            if self._quiet.get(root.index) and wheel.index in self._owners_of(root):
                self._quiet[root.index] = 0

    def _owners_of(self, root: Root) -> set[int]:
        known = self._owners.get(root.index)
        module = root.ref()
        if known is None and module is not None:
            owner = self._optimizers.owner
            known = {owner[id(p)].index for p in module.parameters() if id(p) in owner}
            self._owners[root.index] = known
        return known or set()


def named_evaluation() -> str | None:
    """The word by which the user's own line, or the function it stands in, says that it evaluates; None without one."""
    frame = next(users_frames(_FRAMES), None)
    if frame is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).partition("#")[0]
    names = re.findall(r"[A-Za-z_]\w*", line.replace(".eval()", "")) + [frame.f_code.co_name]
    parts = [part for name in names for part in name.lower().split("_")]
    return next((part for part in parts if part in WORDS), None)


def copies(module: nn.Module) -> list[str]:
    """Pairs of an embedding and a linear layer whose weights are equal, both trained, and not one tensor."""
    named = list(module.named_modules())
    tables = [(name, m.weight) for name, m in named if isinstance(m, nn.Embedding)]
    heads = [(name, m.weight) for name, m in named if isinstance(m, nn.Linear)]
    return [
        f"{one}.weight = {other}.weight" for one, table in tables for other, head in heads
        if table.shape == head.shape and table is not head and table.requires_grad and head.requires_grad
        and torch.equal(table, head)
    ]  # fmt: skip
