"""What a person should be told once about a run: what decays, what came from given weights, what the data needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from torchstone.core.event import Event, Observer
from torchstone.engines.pytorch import groups
from torchstone.engines.pytorch.adapters import adapter_note
from torchstone.engines.pytorch.batch import Source
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.ruler import order_remark
from torchstone.engines.pytorch.weights.report import weights_report


class Remarks:
    """An observer that tells the others what a source has to say, once each, as events of kind `note`.

    A source learns some of it in its first pass (a cache that turned out damaged), so it is asked again after every
    epoch and at the end.
    """

    def __init__(self, source: Source, others: Sequence[Observer]) -> None:
        self._source, self._others, self._num_told = source, list(others), 0

    def tell(self, step: int, texts: Sequence[str]) -> None:
        """Hands each text to the other observers."""
        for text in texts:
            for observer in self._others:
                observer(Event("note", step, {"text": text}))

    def __call__(self, event: Event) -> None:
        if event.kind in ("start", "validation", "checkpoint"):
            new = list(self._source.notes[self._num_told :])
            self._num_told += len(new)
            self.tell(event.step, new)


def receipt_of(job: Job) -> list[dict[str, Any]]:
    """One row per parameter: name, shape, whether it decays, at which share of the rate it learns, and why."""
    given = job.optimizer.param_groups
    decay = max(float(group.get("weight_decay", 0.0)) for group in given)
    return groups.as_given(groups.parameter_groups(job.model, weight_decay=decay)[1], job.model, given)


def remarks_on(job: Job) -> list[str]:
    """What is known of a job before its first step."""
    given = weights_report(job.model)
    course = job.unfreezing.remark(job.epochs) if job.unfreezing is not None else None
    others = (adapter_note(job.model) or None, given, course, order_remark(job))
    return [receipt_remark(receipt_of(job)), *(str(text) for text in others if text is not None)]


def receipt_remark(receipt: Sequence[Mapping[str, Any]]) -> str:
    """A receipt in one line: how much of the model decays, and why the rest does not."""
    decayed = sum(row["num"] for row in receipt if row["decays"])
    others: Counter[str] = Counter()
    for row in receipt:
        if not row["decays"]:
            others[str(row["reason"]).partition(" (")[0]] += row["num"]
    total = sum(row["num"] for row in receipt)
    rest = ", ".join(f"{num:,} ({reason})" for reason, num in others.most_common())
    text = f"weight decay acts on {decayed:,} of {total:,} parameters" + (f"; not on: {rest}" if rest else "")
    slow: Counter[float] = Counter()
    for row in receipt:
        slow[row.get("lr_scale", 1.0)] += row["num"]
    shares = ", ".join(f"{scale:.4g} of {num:,}" for scale, num in sorted(slow.items()))
    return text if set(slow) <= {1.0} else f"{text}; shares of the learning rate: {shares}"
