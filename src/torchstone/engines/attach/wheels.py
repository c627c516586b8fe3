"""An optimizer as the doctor knows it, and the one small gradient by which it is seen whether old ones are cleared."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from torchstone.engines.attach.recorder import Recorder, Row


@dataclass
class Wheel:
    """One optimizer: its number, its steps, and the one small parameter whose gradient is followed.

    used, version: that parameter's gradient as the last step used it. accumulated: backward passes that reached it
    since; is_cleared: whether one of them found it gone or zeroed; num_dropped: how many of them found what an earlier
    one had left since gone or zeroed, before any step used it. Other losses may add to it before it is cleared,
    as a generator's does to a discriminator's. last: gradient and version after the last pass or step. is_kept:
    whether the last step used the same tensor as the one before, or none.
    """

    index: int
    kind: str
    ref: weakref.ref[Optimizer]
    steps: int = 0
    sentinel: Tensor | None = None
    used: Tensor | None = None
    version: int = -1
    last: tuple[Tensor | None, int] | None = None
    accumulated: int = 0
    num_dropped: int = 0
    is_cleared: bool | None = None
    clip: str | None = None
    is_clipped_scaled: bool | None = None
    is_kept: bool = False
    before: tuple[Tensor, Tensor] | None = None
    handles: list[Any] = field(default_factory=list)
    ever: set[int] = field(default_factory=set)
    row: Row = field(default_factory=dict)

    @property
    def is_stale(self) -> bool:
        """Whether the step used the very gradient that the step before had used."""
        grad = None if self.sentinel is None else self.sentinel.grad
        return grad is not None and grad is self.used and grad._version == self.version

    def follow(self, recorder: Recorder) -> None:
        """Hooks the parameter that is followed, where it is not; its numbers are not looked at."""
        parameter, seen = self.sentinel, list[Any]([None, -1])
        if parameter is None or self.handles:
            return

        def before(gradient: Tensor) -> None:
            old = parameter.grad
            seen[:] = old, -1 if old is None else old._version

        def after(parameter: Tensor) -> None:
            if not recorder.is_on:
                return
            if self.used is not None and self.last is not None:
                is_same = seen[0] is self.last[0] and seen[1] == self.last[1]
                self.is_cleared = bool(self.is_cleared) or not is_same
                self.num_dropped += self.accumulated > 0 and not is_same and is_gone(seen[0])
            seen[0] = None
            self.accumulated += 1
            self.last = (parameter.grad, -1 if parameter.grad is None else parameter.grad._version)

        self.handles.append(parameter.register_hook(before))  # type: ignore[no-untyped-call]
        self.handles.append(parameter.register_post_accumulate_grad_hook(after))  # type: ignore[no-untyped-call]

    def unfollow(self) -> None:
        """Takes the hooks off."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def forget(self) -> None:
        """Knows nothing of gradients any more: the next steps are as the first ones."""
        self.used, self.last, self.is_cleared, self.clip = None, None, None, None
        self.accumulated = self.num_dropped = 0

    def end_step(self) -> bool:
        """Remembers the gradient that a step used; whether it used an old one, or none, and the step before did not."""
        grad = None if self.sentinel is None else self.sentinel.grad
        before, self.is_kept = self.is_kept, self.sentinel is not None and (grad is None or grad is self.used)
        self.used, self.version = grad, -1 if grad is None else grad._version
        self.last = (grad, self.version)
        return self.is_kept and not before


def is_gone(gradient: Tensor | None) -> bool:
    """Whether a gradient was taken away or set to zero; one that was scaled or clipped in place is still there."""
    return gradient is None or not (gradient.is_sparse or bool(gradient.any()))
