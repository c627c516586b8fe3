"""The doctor in our own loop: what happens there becomes the rows that its rules read, and nothing is changed.

In a loop that is not ours everything is found out by hooks. Here the loop tells most of it, as events; hooks see only
what no event holds: the first inputs and outputs of the model, units that never fire, and how far a step moves a part
of the largest weight. docs/watched-rows.md lists the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from torchstone.core.event import Event, Observer, Stop
from torchstone.core.finding import Finding
from torchstone.engines.attach.anatomy import BATCH_NORMS
from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.losses import Losses, behind_views
from torchstone.engines.attach.losses import describe as describe_loss
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.movement import Movement
from torchstone.engines.attach.optimizers import NORMS_EVERY, Optimizers, part_of_largest, update_ratio
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.units import Units
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.job import Job

# Forward passes whose outputs are read, as for the first calls of a loss function elsewhere.
READ = 3
# Steps between two looks at which parameters never had a gradient.
SILENT_EVERY = 5


class Doctor(Protocol):
    """Who judges the rows: `flows.watch.Doctor`, which engines do not import."""

    mistakes: dict[str, str]

    def start(self, *, wiring: Callable[[Recorder], Any]) -> Any:
        """Begins; `wiring` makes what writes rows to a recorder."""

    def stop(self) -> None:
        """Judges once more, and ends."""

    def listen(self, event: Event) -> list[str]:
        """Takes an event of the loop; gives lines to note, about what no longer holds at the end."""


# Makes a doctor that hands each new finding to a function.
MakeDoctor = Callable[[Callable[[Finding], None]], Doctor]


@dataclass(frozen=True)
class Learnt:
    """What a job learns. loss: the name of the loss part; classes: their names; target: the name of what is learnt;
    is_weighted: whether classes weigh differently in the loss, so that what a guess costs is not known.
    """

    loss: str
    classes: Sequence[str]
    target: str = ""
    is_weighted: bool = False

    @property
    def kinds(self) -> list[str]:
        """The node at which a backward pass begins, where the loss is torch's own mean over examples; else none."""
        return ["NllLossBackward0"] if self.loss == "cross_entropy" and not self.is_weighted else []


class Rows:
    """Writes the rows of a job in training, from its events and from a few hooks.

    step: optimizer steps that were made before.
    """

    def __init__(self, recorder: Recorder, job: Job, learnt: Learnt, *, step: int) -> None:
        self.recorder, self._job, self._learnt, self._kinds = recorder, job, learnt, learnt.kinds
        recorder.step = step
        self.models = Models(recorder)
        self.optimizers = Optimizers(recorder, self.models)  # for its rows: it hooks nothing here
        self.units = Units(recorder, self.models, self.optimizers)
        Movement(recorder, self.models, self.optimizers)
        Inputs(recorder, self.models, Losses(recorder, self.models))
        self.models.on_forward.append(self._forward)
        self._outputs: list[dict[str, Any]] = []
        self._passes, self._own_steps = 0, 0
        self._part: tuple[Tensor, Tensor] | None = None
        self._patches = Patches()

    def attach(self) -> None:
        """Hooks the model and the optimizer."""
        self._patches.at_end(self.models.unhook)
        self.units.attach(self._patches)
        self._patches.keep(self._job.optimizer.register_step_pre_hook(self._before_step))

    def take(self, model: Any = None, optimizer: Any = None) -> None:
        """The job's own model and optimizer; nothing else can be given."""
        self.models.add(self._job.model)
        self.wheel = self.optimizers.wheel(self._job.optimizer)
        self.wheel.row["place"] = None  # no line of the user's made it
        for root in self.models.roots:
            module = root.ref()
            norms = [] if module is None else [m for m in module.modules() if isinstance(m, BATCH_NORMS)]
            root.row["batch_norms"] = sum(norm.training for norm in norms)
        self.recorder.wake()

    def detach(self) -> None:
        """The last look, then every hook comes off."""
        try:
            self.recorder.close()
        finally:
            self._patches.undo()

    def __call__(self, event: Event) -> None:
        """What the loop tells; an observer's call."""
        if event.kind == "step":
            self._step(event)
        elif event.kind == "validation":
            self._validation(event)

    @safely
    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if self.recorder.step == 0 and root.has_grad and isinstance(output, Tensor) and len(self._outputs) < READ:
            nothing = torch.zeros(0, dtype=torch.int64)
            row = describe_loss(output.detach(), nothing)
            self._outputs.append({**row, "root": root.index, "node": behind_views(output)})

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.recorder.is_awake:
            self._slice()

    @safely
    def _slice(self) -> None:
        if self._own_steps % NORMS_EVERY == 0:
            self._part = part_of_largest([p for p in self._job.parameters if p.requires_grad])

    @safely
    def _step(self, event: Event) -> None:
        recorder, is_moved = self.recorder, event.values.get("skipped") is None
        recorder.step = event.step
        self._own_steps += is_moved
        self.wheel.steps = self._own_steps
        if self._outputs:
            self._note_first_loss(event.values)
        if not recorder.is_awake:
            return recorder.sleep_on()
        row = {**event.values, "event": "step", "step": event.step, "optimizer": self.wheel.index}
        row |= {"own_step": self._own_steps, "has_closure": False, "kinds": self._kinds}
        del row["update_ratio"]  # of all weights, at few steps: rules here know that of a part, at more
        if is_moved:
            self._note_update(row)
            self._note_silent()
            for listener in self.optimizers.on_step:
                listener(self.wheel, row)
        recorder.note_step(row)
        return None

    def _note_first_loss(self, values: Mapping[str, Any]) -> None:
        """The first step's loss beside the outputs that it came from, as if a loss function had been seen."""
        for index, output in enumerate(self._outputs):
            row = self.recorder.note("loss", function=self._learnt.loss, has_grad=True, reduction="mean", place=None,
                                     weighted=self._learnt.is_weighted,
                                     value=values.get("loss") if index == 0 else None)  # fmt: skip
            row.update(output, step=0)
            if index == 0 and self._job.feed.labels is not None:
                row.update(target_shape=[values["examples"]], entropy=dealt_entropy(self._job.feed))
        self._outputs.clear()

    @torch.no_grad()
    def _note_update(self, row: dict[str, Any]) -> None:
        """How far the step moved a part of the largest weight, read one step later."""
        part, self._part = self._part, None
        if part is None:
            return
        ratio = update_ratio(*part)
        if ratio is not None:
            self.recorder.later(row, "update_ratio", ratio)

    def _note_silent(self) -> None:
        trained = [p for p in self._job.parameters if p.requires_grad]
        self.wheel.ever.update(id(p) for p in trained if p.grad is not None)
        if self._own_steps % SILENT_EVERY == 0:
            self.optimizers.note_silent(self.wheel, trained)

    @safely
    def _validation(self, event: Event) -> None:
        """A pass over the validation part; rules know it as one over a loader that nothing is trained with."""
        validation, values = self._job.validation, event.values
        if validation is None:
            return
        self._passes += 1
        loss, answers = values["metrics"].get("loss"), values.get("answers")
        row = self.recorder.note(
            "pass", loader=0, number=self._passes, place=None, of=values["of"], examples=values["n"], batches=0,
            backwards=0, forwards=1, forwards_with_grad=0, forwards_in_training=0, losses=1, modes_matter=False,
            is_whole=True, first_step=event.step, last_step=event.step, own_num=values["n"], own_loss=loss,
            train_loss=values.get("train_loss"), is_best=values["is_best"],
            left=1 - event.step / max(self._job.total_steps, 1),
        )  # fmt: skip
        if answers is not None:
            truth = np.bincount(validation.target, minlength=len(answers)).tolist()
            row.update(answers=answers, truth=truth, classes=list(self._learnt.classes))
        if validation.target.dtype.kind == "f" and loss is not None and not math.isfinite(loss):
            row.update(target=self._learnt.target, target_low=float(validation.target.min()),
                       target_high=float(validation.target.max()))  # fmt: skip
        self.recorder.look(at_most_every_s=2.0)


def dealt_entropy(feed: Feed) -> float | None:
    """The entropy of the labels as the first epoch deals them out, in nats: the cost of guessing them by frequency."""
    if feed.labels is None:
        return None
    order = np.argsort(feed.rows)
    places = order[np.searchsorted(feed.rows, feed.order(0), sorter=order)]
    counts = np.bincount(feed.labels[places])
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


class Attending:
    """An observer: passes events on to the rows, and each new finding to the other observers, as an event."""

    def __init__(self, others: Sequence[Observer]) -> None:
        self._others = others
        self._new: list[Finding] = []
        self.rows: Rows | None = None
        self.doctor: Doctor | None = None

    def hear(self, finding: Finding) -> None:
        """Takes a finding; it is told after the event that showed it."""
        self._new.append(finding)

    def __call__(self, event: Event) -> Stop | None:
        """Looks, and tells; a wish of those who are told becomes its own."""
        if self.rows is None or self.doctor is None:
            return None
        texts = self.doctor.listen(event)
        if event.kind == "finish":
            self.doctor.stop()
            texts += [f"a mistake of the doctor's own, the run is not touched by it: {name}: {mistake}"
                      for name, mistake in self.doctor.mistakes.items()]
        else:
            self.rows(event)
        for text in texts:
            for observer in self._others:
                observer(Event("note", event.step, {"text": text, "by": "doctor"}))
        return self.tell(event.step) if self._new else None

    def tell(self, step: int) -> Stop | None:
        """Hands what is new to the others."""
        new, self._new = self._new, []
        found = [Event("finding", step, finding.to_json()) for finding in new]
        wishes = [observer(one) for one in found for observer in self._others]
        return next((wish for wish in wishes if wish is not None), None)


@contextmanager
def attended(
    job: Job, make: MakeDoctor | None, others: Sequence[Observer], learnt: Learnt, *, step: int
) -> Iterator[list[Observer]]:
    """The doctor beside a job while it trains, as one more observer; none without a doctor or on other ranks.

    others: who is told of findings, and of mistakes of the doctor's own, which never stop a run.
    step: optimizer steps that were made before.
    """
    if make is None or job.strategy.rank:
        yield []
        return
    attending = Attending(others)
    attending.doctor = doctor = make(attending.hear)

    def rows(recorder: Recorder) -> Rows:
        attending.rows = Rows(recorder, job, learnt, step=step)
        return attending.rows

    doctor.start(wiring=rows)
    try:
        yield [attending]
    finally:
        doctor.stop()
