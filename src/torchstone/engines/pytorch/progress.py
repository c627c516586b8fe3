"""Where a run stands: plain numbers that go into a checkpoint as JSON and come back the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Progress:
    """All that the loop remembers besides tensors.

    epoch, window: the next window to train on; window may equal the number of windows of the epoch: then its
        validation comes next. step: successful optimizer steps; the schedule hangs on it. windows_seen: attempts.
    loss_sum, weight_sum, examples: of the epoch so far, over all ranks. overflows: skipped steps in a row.
    schedule: what a schedule that follows validation remembers; stop: the same of early stopping by `train.stop_on`.
    status, reason: how the run ended, and why if not by its epochs.
    best: the best validation so far ({"step", "epoch", "metrics"}); bad_epochs: validations since then.
    """

    epoch: int = 0
    window: int = 0
    step: int = 0
    windows_seen: int = 0
    examples_seen: int = 0
    loss_sum: float = 0.0
    weight_sum: float = 0.0
    overflows: int = 0
    best: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    bad_epochs: int = 0
    status: str = "running"
    reason: str | None = None
    schedule: dict[str, Any] = field(default_factory=dict)
    stop: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Python floats survive JSON exactly (shortest round-trip representation)."""
        return asdict(self)

    @staticmethod
    def from_json(row: dict[str, Any]) -> Progress:
        """The inverse of `to_json`."""
        return Progress(**row)

    def note_validation(self, metric: str, direction: str, record: dict[str, Any]) -> bool:
        """Keeps the best validation; a metric that is NaN or missing counts as missing, neither good nor bad.

        Where two are equal in the metric the lower validation loss is better: on 18 examples the accuracy is often
        1.0 long before the model is. Returns whether this one is the best so far.
        """
        self.last = record
        value = record["metrics"].get(metric)
        if value is None or value != value:
            return False
        sign = 1.0 if direction == "max" else -1.0
        if self.best is None or _rank(record, metric, sign) > _rank(self.best, metric, sign):
            self.best, self.bad_epochs = record, 0
            return True
        self.bad_epochs += 1
        return False


def _rank(record: dict[str, Any], metric: str, sign: float) -> tuple[float, float]:
    """What orders validations: the metric, then the loss; a loss that is missing or NaN comes last."""
    loss = record["metrics"].get("loss")
    return sign * record["metrics"][metric], -loss if loss is not None and loss == loss else float("-inf")
