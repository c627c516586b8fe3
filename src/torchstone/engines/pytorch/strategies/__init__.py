"""How the loop meets processes: the only place that knows how many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


class Strategy(Protocol):
    """What a strategy offers; every call is made by all ranks, in the same order."""

    rank: int
    world: int
    device: torch.device

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model on this rank's device, equal on all ranks."""
        ...

    def share(self, optimizer: torch.optim.Optimizer) -> None:
        """Told once of the optimizer, before its first step and before a checkpoint is loaded."""
        ...

    def whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """What a checkpoint holds of an optimizer's `state_dict()`; all of it on rank 0, which writes."""
        ...

    def own(self, state: dict[str, Any]) -> dict[str, Any]:
        """What this rank's optimizer loads of a state that `whole` has given."""
        ...

    def before_backward(self, is_last: bool) -> None:
        """Announces a backward pass; gradients may travel only during the last one of a window."""
        ...

    def reduce_gradients(self) -> None:
        """Afterwards every rank's gradients are the sum over ranks; None where no rank has one."""
        ...

    def sums(self, values: Sequence[float]) -> list[float]:
        """Each value summed over ranks, in float64."""
        ...

    def gather(self, value: Tensor) -> list[Tensor]:
        """The tensors of all ranks, in rank order; their first axes may differ in length."""
        ...

    def agreed(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Copies that are equal on all ranks: float tensors averaged over ranks, of others the largest."""
        ...

    def barrier(self) -> None:
        """Returns when every rank has come here."""
        ...

    def close(self) -> None:
        """Leaves the group of processes."""
        ...
