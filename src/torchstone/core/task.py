"""What a task is: what goes in, what comes out, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Modality = Literal["image", "text", "table"]
TargetKind = Literal["single", "multi", "number"]
Direction = Literal["max", "min"]


@dataclass(frozen=True)
class Task:
    """A kind of job: `image-classification`, `tabular-regression`, …

    metric: the one that chooses the best checkpoint; direction: whether more or less of it is better.
    loss: the loss that fits when nothing else is known, with its reason and source.
    """

    name: str
    modality: Modality
    target: TargetKind
    metric: str
    direction: Direction
    loss: str
    loss_reason: str
    loss_source: str
