"""What a watch has seen and what it has not, in one line: silence alone would be read as health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def seen(rows: Rows) -> dict[str, int]:
    """How often each thing was seen: steps, training passes, validation passes, losses, schedulers, saves, seeds."""
    by_event: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_event.setdefault(str(row.get("event")), []).append(row)
    passes = by_event.get("pass", [])
    last = (by_event.get("end") or [{}])[-1]
    return {
        "steps": int(last.get("steps", len(by_event.get("step", [])))),
        "forwards": int(last.get("num_forwards", 0)),
        "training_passes": sum(row.get("backwards", 0) > 0 for row in passes),
        "validation_passes": sum(row.get("backwards", 0) == 0 and row.get("forwards", 0) > 0 for row in passes),
        "losses": len(by_event.get("loss", [])),
        "schedulers": len(by_event.get("schedule", [])),
        "saves": int(last.get("num_saves", 0)),
        "seeds": int(last.get("num_seeds", 0)),
    }


def nothing_found(rows: Rows) -> str:
    """`112 steps, 8 passes of validation: nothing found; not seen: a scheduler, a checkpoint`."""
    count = seen(rows)
    if not count["steps"]:
        what = f"; {number(count['forwards'], 'forward pass', 'forward passes')}" if count["forwards"] else ""
        door = "; in Keras: fit(…, callbacks=[ts.keras.Doctor()])" if count["training_passes"] else ""
        return f"no step of a torch optimizer was seen{what}: nothing was judged{door}"
    parts = [number(count["steps"], "step", "steps")]
    if count["validation_passes"]:
        parts.append(number(count["validation_passes"], "pass of validation", "passes of validation"))
    missing = unseen(rows)
    return f"{', '.join(parts)}: nothing found" + (f"; not seen: {', '.join(missing)}" if missing else "")


def unseen(rows: Rows) -> list[str]:
    """What was not seen, and so not judged: validation, a scheduler, a checkpoint, …"""
    count = seen(rows)
    missing = {
        "a DataLoader in training": count["training_passes"], "validation": count["validation_passes"],
        "a loss function of torch": count["losses"], "a scheduler": count["schedulers"], "a checkpoint": count["saves"],
    }  # fmt: skip
    if any(row.get("event") == "loop" for row in rows):  # a framework's own loop, whose callbacks tell less
        missing = {"validation": count["validation_passes"]}
    return [name for name, times in missing.items() if not times]


def number(count: int, one: str, many: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{count:,} {one if count == 1 else many}"
