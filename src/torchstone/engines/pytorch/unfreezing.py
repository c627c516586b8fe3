"""Frozen layers that are released one by one, the last first (`train.unfreeze`; Howard & Ruder 2018, ULMFiT)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.groups import layer_of, layers

if TYPE_CHECKING:
    from torchstone.engines.pytorch.job import Job

_WHERE = "train.unfreeze"


@dataclass(frozen=True)
class Release:
    """A layer's frozen parameters, by name, and the epoch from which on they train (0 is the first)."""

    epoch: int
    layer: str
    names: tuple[str, ...]
    num: int

    def __str__(self) -> str:
        return f"{self.layer} ({self.num:,} parameters)"


@dataclass(frozen=True)
class Unfreezing:
    """When each frozen layer is released; what is frozen at an epoch depends on the epoch alone.

    The optimizer holds the parameters from the start and has no state for them before they have their first
    gradient, so that Adam's means and step counts begin anew with the release.
    """

    releases: Sequence[Release]

    def at(self, model: nn.Module, epoch: int) -> list[Release]:
        """Freezes what is not yet released at this epoch, and nothing else; returns what is released at it."""
        named = dict(model.named_parameters())
        for release in self.releases:
            for name in release.names:
                named[name].requires_grad_(release.epoch <= epoch)
        return [release for release in self.releases if release.epoch == epoch]

    def remark(self, epochs: int) -> str:
        """The whole course in one sentence."""
        told = [f"{r} after epoch {r.epoch}" for r in self.releases if r.epoch < epochs]
        late = [str(r) for r in self.releases if r.epoch >= epochs]
        rest = f"; never in {epochs} epochs: {', '.join(late)}" if late else ""
        return f"frozen at first, released: {', '.join(told)}{rest}"


def unfreezing(model: nn.Module, when: int | Sequence[int] | None, epochs: int) -> Unfreezing | None:
    """The releases of a model's frozen layers, from the last to the first; None where `when` is None.

    when: so many epochs between two releases, the first after as many; or after how many epochs each release comes,
    in rising order; layers without one stay frozen. What a layer is, `groups.layers` says.

    Afterwards all that will be released is free to train, for the strategy and the optimizer to take it in; `at`
    freezes it. Raises StoneError where nothing is frozen, or nothing would be released within `epochs`.
    """
    if when is None:
        return None
    named = dict(model.named_parameters())
    cut = [[name for name in layer if not named[name].requires_grad]
           for layer in layers({name: parameter.shape for name, parameter in named.items()})]  # fmt: skip
    frozen = [names for names in reversed(cut) if names]
    if not frozen:
        raise StoneError("nothing is frozen, so that this would have no effect", where=_WHERE,
                         fix=f"say with train.freeze what is frozen at first, for example ['^(?!{_end(named)})']")
    moments = _moments(when, len(frozen), epochs)
    releases = []
    for epoch, names in zip(moments, frozen, strict=False):
        for name in names:
            named[name].requires_grad_(True)
        num = sum(named[name].numel() for name in names)
        releases.append(Release(epoch, layer_of(names[0]) or names[0], tuple(names), num))
    return Unfreezing(tuple(releases))


@contextmanager
def everything_released(job: Job) -> Iterator[None]:
    """Inside the block the job trains all that it will ever train: what costs most time and memory."""
    if job.unfreezing is None:
        yield
        return
    named = dict(job.model.named_parameters())
    before = {name: named[name].requires_grad for release in job.unfreezing.releases for name in release.names}
    try:
        for name in before:
            named[name].requires_grad_(True)
        yield
    finally:
        for name, is_trained in before.items():
            named[name].requires_grad_(is_trained)


def _moments(when: int | Sequence[int], num: int, epochs: int) -> list[int]:
    moments = [when * (index + 1) for index in range(num)] if isinstance(when, int) else list(when)
    if not moments or moments[0] < 1 or any(later < earlier for earlier, later in itertools.pairwise(moments)):
        raise StoneError(f"found {moments}; expected epochs in rising order, 1 or more", where=_WHERE)
    if len(moments) > num:
        raise StoneError(f"there are {len(moments)} releases and {num} frozen layers", where=_WHERE,
                         fix=f"name {num} epochs at most")
    if moments[0] >= epochs:
        raise StoneError(f"the first release is after epoch {moments[0]}, and the run has {epochs}", where=_WHERE,
                         fix="train for more epochs, or release earlier")
    return moments


def _end(names: Iterable[str]) -> str:
    """A regular expression for the model's last layer."""
    return re.escape(list(names)[-1].rpartition(".")[0])
