"""Ctrl-C during a run: the step is finished, the run saved, and one is told how to go on."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

from torchstone.core.event import Event, Stop

_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # SIGTERM: what Slurm, Kubernetes and systemd send before they kill


class Interrupt:
    """An observer that asks for the end of the run once the process was asked to end.

    Before the run starts, and at a second Ctrl-C, Python's own behaviour holds: the process ends at once.
    number: the signal that came, 0 for none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __call__(self, event: Event) -> Stop | None:
        if event.kind == "start" and not self._before:
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return Stop(f"interrupted by {signal.Signals(self.number).name}") if self.number else None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self.release()
        print("\ninterrupted: saving after this step; once more ends it at once", file=sys.stderr)

    def release(self) -> None:
        """Gives the signals back to whoever had them."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
