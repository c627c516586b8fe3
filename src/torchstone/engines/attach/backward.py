"""Backward passes: from which loss, in which mode, scaled or not; and losses whose graphs stay alive."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely, users_frames
from torchstone.engines.attach.wheels import Wheel

# Graphs that are followed to see whether they are freed; the newest so many.
FOLLOWED = 64
_FRAMES = 15


class Token:
    """Lives as long as a graph does."""

    __slots__ = ("__weakref__",)


class Graphs:
    """Graphs that were followed, each with the number of backward passes before it."""

    def __init__(self) -> None:
        self._tokens: deque[tuple[int, weakref.ref[Token]]] = deque(maxlen=FOLLOWED)

    def follow(self, node: Any, total: int) -> None:
        """Ties a token to the graph, through a hook that does nothing."""
        token = Token()

        def hook(gradients: Any, token: Token = token) -> None:
            return None

        node.register_prehook(hook)
        self._tokens.append((total, weakref.ref(token)))

    def alive(self, total: int) -> int:
        """Those from more than four backward passes ago that are still held by somebody."""
        tokens = self._tokens
        for _ in range(len(tokens)):  # a graph that was freed is not looked for again
            made, token = tokens.popleft()
            if token() is not None:
                tokens.append((made, token))
        return sum(made < total - 4 for made, _ in tokens)


class Backwards:
    """What the passes since the last optimizer step were; laid into the row of that step."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models = recorder, models
        self._graphs = Graphs()
        self._passes: list[dict[str, Any]] = []
        self._loss: Tensor | None = None
        self._counted: dict[str, int] = {}
        self.total = 0
        self.is_pending = False  # since the last step of any optimizer
        self.on_backward: list[Callable[[Tensor], None]] = []
        self.on_every_backward: list[Callable[[Tensor], None]] = []  # also while the recorder sleeps
        self.after_backward: list[Callable[[Tensor], None]] = []
        optimizers.on_step.append(self._into)
        recorder.on_wake.append(self._wake)

    def attach(self, patches: Patches) -> None:
        """Wraps torch.autograd.backward, through which Tensor.backward goes too."""
        recorder, is_compiling = self.recorder, torch.compiler.is_compiling

        def make(original: Callable[..., None]) -> Callable[..., None]:
            def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
                if is_compiling() or not recorder.is_on:
                    original(tensors, *args, **kwargs)
                    return
                (self._before if recorder.is_awake else self._glance)(tensors)
                original(tensors, *args, **kwargs)
                if recorder.is_awake:
                    self._after(tensors)

            return backward

        patches.replace(torch.autograd, "backward", make)

    @safely
    def _before(self, tensors: Any) -> None:
        loss = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
        if not isinstance(loss, Tensor):
            return
        self.recorder.add("backwards")
        self._read(loss)
        for listener in (*self.on_every_backward, *self.on_backward):
            listener(loss)

    def _glance(self, tensors: Any) -> None:
        """A pass that is slept through, unless one of those who glance at it wakes the recorder."""
        try:
            loss = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
            if not isinstance(loss, Tensor):
                return
            self.recorder.count["backwards"] += 1
            for listener in self.on_every_backward:
                listener(loss)
            if self.recorder.is_awake:
                self._read(loss)
        except Exception as error:
            self.recorder.blame("Backwards._glance", error)

    @safely
    def _after(self, tensors: Any) -> None:
        loss = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
        if isinstance(loss, Tensor):
            for listener in self.after_backward:
                listener(loss)

    def _read(self, loss: Tensor) -> None:
        """What the row of the next step says of this pass."""
        self.total += 1
        self.is_pending = True
        self.recorder.place("backward")
        root = self._models.last
        raw = getattr(loss, "_unscaled_loss", None)  # see scalers.py
        node, mean_of = loss.grad_fn, getattr(loss, "_is_mean_of", None)
        self._passes.append({
            "root": None if root is None else root.index,
            "training": None if root is None else root.training,
            "is_leaf": node is None, "kind": None if node is None else f"Mean of {mean_of}" if mean_of else node.name(),
            "is_scaled": raw is not None,
            "has_modes": None if root is None else root.has_modes, "line": caller(),
        })  # fmt: skip
        if loss.numel() == 1:
            self._loss = loss.detach() if raw is None else raw
        if node is not None:
            self._graphs.follow(node, self.total)

    def _wake(self) -> None:
        """Counts anew: what came in the sleep belongs to no step that is seen."""
        self._passes.clear()
        self._loss, self.is_pending = None, False
        self._counted.update(self.recorder.count)

    def _into(self, wheel: Wheel, row: dict[str, Any]) -> None:
        passes, self._passes = self._passes, []
        self.is_pending = False
        row["backwards"] = len(passes)
        row["leaf_backwards"] = sum(one["is_leaf"] for one in passes)
        row["kinds"] = [one["kind"] for one in passes[:8]]
        row["backward_lines"] = len({one["line"] for one in passes})
        row["is_scaled"] = any(one["is_scaled"] for one in passes)
        row["training"] = passes[-1]["training"] if passes else None
        row["has_modes"] = passes[-1]["has_modes"] if passes else None
        row["graphs_alive"] = self._graphs.alive(self.total)
        for name in ("forwards", "batches"):
            total = self.recorder.count.get(name, 0)
            row[name], self._counted[name] = total - self._counted.get(name, 0), total
        if self._loss is not None:
            self.recorder.later(row, "loss", self._loss)
            self._loss = None
        else:
            row["loss"] = None


def caller() -> tuple[int, int] | None:
    """A number for the user's own line that called; None where there is none near."""
    frame = next(users_frames(_FRAMES), None)
    return None if frame is None else (id(frame.f_code), frame.f_lineno)
