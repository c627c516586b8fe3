"""What a callback in somebody else's trainer needs of the doctor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Watcher(Protocol):
    """A doctor that can be started and stopped."""

    is_on: bool

    @property
    def findings(self) -> list[Any]:
        """What was found so far, errors first."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was seen."""

    def start(
        self, *, model: Any = None, optimizer: Any = None, wiring: Callable[[Any], Any] | None = None
    ) -> Any:
        """Attaches it; the model and the optimizers are those that were built before.

        wiring: makes what writes the rows, where it is not hooks of torch.
        """

    def stop(self) -> None:
        """Takes it off; does nothing where it is off."""


class Told:
    """What every callback passes on of its watcher."""

    _watcher: Watcher

    @property
    def findings(self) -> list[Any]:
        """What was found so far, errors first."""
        return self._watcher.findings

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was seen, as docs/watched-rows.md lists it."""
        return self._watcher.rows
