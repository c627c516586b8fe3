"""The whole interface between a loop and those who watch it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["start", "step", "validation", "examples", "checkpoint", "finding", "note", "stop", "finish"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run: what, at which optimizer step, with which numbers (JSON values)."""

    kind: Kind
    step: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stop:
    """An observer's wish that the run ends after this step, with its reason.

    is_final: the run is then validated and counts as finished (its time is over); else it is stopped as it stands.
    """

    reason: str
    is_final: bool = False


# An observer may watch and may ask to stop; it may not touch.
Observer = Callable[[Event], Stop | None]
