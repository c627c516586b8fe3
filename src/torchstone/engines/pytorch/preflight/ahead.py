"""How a run is looked after: once before its first step, and while it trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torchstone.core.event import Event, Observer
from torchstone.core.finding import Finding
from torchstone.engines.pytorch.watched import MakeDoctor


class Ahead(Protocol):
    """What was seen before the first step; is_blocked: it must not be taken."""

    @property
    def line(self) -> str:
        """One line for a person; empty where there is nothing to tell."""
        ...

    @property
    def findings(self) -> list[Finding]:
        """What was found."""
        ...

    @property
    def is_blocked(self) -> bool:
        """Whether the run must not begin."""
        ...


@dataclass(frozen=True)
class Care:
    """ahead: looks at (setting, job) of a new run and leaves both as they are. doctor: makes who watches it train."""

    ahead: Callable[[Any, Any], Ahead] | None = None
    doctor: MakeDoctor | None = None


class Announcer:
    """An observer: once the others have heard of the start, it tells them what was seen before."""

    def __init__(self, seen: Ahead, others: Sequence[Observer]) -> None:
        self._seen, self._others = seen, list(others)

    def __call__(self, event: Event) -> None:
        """The line as a note, each finding as an event of its own."""
        if event.kind != "start":
            return
        told = [Event("note", event.step, {"text": self._seen.line, "by": "doctor"})] if self._seen.line else []
        told += [Event("finding", event.step, finding.to_json()) for finding in self._seen.findings]
        for one in told:
            for observer in self._others:
                observer(one)


def announcing(seen: Ahead | None, others: Sequence[Observer]) -> list[Observer]:
    """The observers with an announcer behind them, where there is something to tell and somebody to tell it."""
    return [*others, Announcer(seen, others)] if seen is not None and others else list(others)
