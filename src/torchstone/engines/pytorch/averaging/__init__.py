"""Averages of the weights along the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Averaging(Protocol):
    """A second set of weights, which is the one that is judged and kept as the best."""

    def update(self, step: int) -> None:
        """Follows the weights after optimizer step `step` (0, 1, …)."""
        ...

    def state(self) -> dict[str, Tensor]:
        """The averaged weights and buffers by the model's names, as this rank has them."""
        ...

    def load(self, state: dict[str, Tensor]) -> None:
        """Takes over saved averages."""
        ...
