"""How training works here, on one page. Read it from top to bottom.

A run is epochs of windows. A window is one optimizer step (`step.py`): the model in train mode; gradients set to
None; for each micro-batch the forward pass under autocast, the loss as (sum, weight), the backward pass; gradients
summed over ranks and divided once by the total weight; unscaled, their norm measured once, clipped; the optimizer's
step, the scaler's update, the average of the weights. The learning rate is a function of the successful steps.
After an epoch's last window comes validation (`scoring.py`): eval mode, inference mode, every example exactly once.

Three things make a run exact. Which examples a window holds depends only on (seed, epoch, window) (`feed.py`); where
the sampler goes by the examples' losses (`ruler.py`), on these too, and they are in every checkpoint.
Random augmentation depends only on (seed, epoch, row). All the rest, weights, optimizer, scaler, average, dropout's
generator, and `Progress`, is in every checkpoint (`checkpoint.py`). So a run that is killed anywhere and resumed
ends with the same weights, bit for bit on a CPU.

Whoever watches gets events and may ask to stop; only a named slot of the recipe can change what is trained.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from torchstone.core.event import Event, Kind, Observer
from torchstone.engines.pytorch.feed import Window
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.postmortem.keep import look_back
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.ruler import measure_if_due
from torchstone.engines.pytorch.scoring import Scores, agreed_weights, score
from torchstone.engines.pytorch.step import Outcome, take_step
from torchstone.parts.schedules.plateau import Plateau


class Watch:
    """The observers of a run, and whether one of them wants it to end."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = list(observers)
        self.reason: str | None = None
        self.is_final = False

    def tell(self, kind: Kind, step: int, values: dict[str, Any]) -> None:
        """Hands an event to every observer."""
        event = Event(kind, step, values)
        for observer in self._observers:
            wish = observer(event)
            if wish is not None and self.reason is None:
                self.reason, self.is_final = wish.reason, wish.is_final


def fit(job: Job, progress: Progress, observers: Sequence[Observer] = ()) -> Progress:
    """Trains until the epochs are over, an observer or early stopping ends it, or a number is not finite.

    `progress` is where the run stands (a new one, or that of a checkpoint) and is moved along; its `status` is
    "finished", "stopped" or "failed" at the end. The job's saver, if any, has written all it was given.
    """
    watch = Watch(observers)
    to_train_mode(job.model, job.resting)
    progress.status, progress.reason = "running", None
    end_if_patience_is_over(job, progress, watch)  # a run that was killed after its last checkpoint has nothing to do
    while progress.epoch < job.epochs and progress.status == "running":
        release(job, progress, watch)
        train_epoch(job, progress, watch)
        if progress.status == "running":
            end_epoch(job, progress, watch)
    if progress.status == "running":
        progress.status = "finished"
    progress.reason = watch.reason
    save(job, progress, watch, is_final=True)
    if job.saver is not None:
        job.saver.finish()
    watch.tell("finish", progress.step, {"status": progress.status, "reason": watch.reason})
    return progress


def release(job: Job, progress: Progress, watch: Watch) -> None:
    """Lets go of the frozen layers whose time has come, also where a run is resumed."""
    if job.unfreezing is None:
        return
    for released in job.unfreezing.at(job.model, progress.epoch):
        if progress.window == 0:
            watch.tell("note", progress.step, {"text": f"released after epoch {progress.epoch}: {released}"})
    to_train_mode(job.model, job.resting)


def train_epoch(job: Job, progress: Progress, watch: Watch) -> None:
    """The windows of one epoch, from where the run stands."""
    measure_if_due(job, progress)
    for window, wait_s in timed(job.feed.epoch(progress.epoch, progress.window)):
        outcome = take_step(job, window, progress, wait_s)
        watch.tell("step", progress.step, outcome.row)
        if outcome.problem is not None:
            return fail(job, progress, watch, window, outcome)
        if job.seen is not None:
            job.seen.take(window)
        progress.window += 1
        progress.windows_seen += 1
        progress.examples_seen += int(outcome.row["examples"])
        is_due = job.saver is not None and job.saver.is_due(progress.windows_seen)
        wants_stop, is_final, is_due = agree(job, watch.reason is not None, watch.is_final, is_due)
        if wants_stop:
            progress.status = "finished" if is_final else "stopped"
            return save(job, progress, watch, is_best=validate(job, progress, watch)) if is_final else None
        if is_due:
            save(job, progress, watch)
    return None


def end_epoch(job: Job, progress: Progress, watch: Watch) -> None:
    """Validation, best and last, early stopping, a checkpoint if this is the best or the last one is old."""
    tell_examples(job, progress, watch)
    if job.average is not None:
        job.average.end_epoch(progress.epoch, job.epochs)
    is_best = validate(job, progress, watch)
    progress.epoch, progress.window = progress.epoch + 1, 0
    progress.loss_sum = progress.weight_sum = 0.0
    end_if_patience_is_over(job, progress, watch)
    is_due = is_best or (job.saver is not None and job.saver.is_stale())
    if agree(job, is_due)[0]:
        save(job, progress, watch, is_best=is_best)
    if progress.status == "running" and progress.epoch < job.epochs and agree(job, watch.reason is not None)[0]:
        progress.status = "stopped"


def validate(job: Job, progress: Progress, watch: Watch) -> bool:
    """Scores the validation part, if there is one; returns whether this is the best so far."""
    if job.validation is None:
        return False
    started = time.perf_counter()
    with agreed_weights(job):
        result = score(job, job.validation)
    return judge(job, progress, watch, result, time.perf_counter() - started)


def end_if_patience_is_over(job: Job, progress: Progress, watch: Watch) -> None:
    """Early stopping: ends the run where it stands, when validation was no better too often."""
    if job.patience and job.validation is not None and progress.bad_epochs >= job.patience:
        progress.status, watch.reason = "finished", f"no better {job.validation.metric}"
    elif job.stop_on is not None and job.stop_on.is_over(progress.stop):
        progress.status, watch.reason = "finished", f"no better {job.stop_on.metric}"


def judge(job: Job, progress: Progress, watch: Watch, result: Scores, seconds: float) -> bool:
    """Metrics from the whole set, never from means of batches; returns whether they are the best so far."""
    validation = job.validation
    assert validation is not None
    metrics = {name: metric(result.scores, validation.target) for name, metric in validation.metrics.items()}
    metrics["loss"] = result.loss
    record = {"step": progress.step, "epoch": progress.epoch, "metrics": metrics}
    is_best = progress.note_validation(validation.metric, validation.direction, record)
    if job.stop_on is not None:
        progress.stop = job.stop_on.update(progress.stop, metrics)
    if isinstance(job.schedule, Plateau):
        metric = metrics.get(validation.metric)
        progress.schedule = job.schedule.update(progress.schedule, metric, validation.direction)
    train_loss = progress.loss_sum / progress.weight_sum if progress.weight_sum else None
    counts: dict[str, Any] = {"train_loss": train_loss, "n": result.num, "of": result.expected, "is_best": is_best}
    if (answers := result.answers(validation.target)) is not None:
        counts["answers"] = answers
    speed = {"seconds": seconds, "examples_per_s": result.num / max(seconds, 1e-9)}
    watch.tell("validation", progress.step, {**record, **counts, **speed})
    return is_best


def save(job: Job, progress: Progress, watch: Watch, *, is_best: bool = False, is_final: bool = False) -> None:
    """Hands a copy of everything to the saver, which writes it aside while training goes on."""
    tell_examples(job, progress, watch)  # before it: a run that is resumed from here tells what comes after
    if job.saver is None or (is_final and job.saver.has(progress)):
        return
    started = time.perf_counter()
    path = job.saver.save(job, progress, is_best=is_best)
    pause_ms = (time.perf_counter() - started) * 1e3
    watch.tell("checkpoint", progress.step, {"path": path, "ms": pause_ms, "is_best": is_best})


def tell_examples(job: Job, progress: Progress, watch: Watch) -> None:
    """Which examples came since this was last told, of all ranks."""
    row = None if job.seen is None else job.seen.tell(job.strategy, progress.epoch)
    if row is not None:
        watch.tell("examples", progress.step, row)


def fail(job: Job, progress: Progress, watch: Watch, window: Window, outcome: Outcome) -> None:
    """Ends the run before the update that a non-finite number would have spoilt; names examples and layer."""
    assert outcome.problem is not None
    rows = outcome.problem.culprits or tuple(window.rows.tolist())
    progress.status = "failed"
    seen = {"problem": outcome.problem.what, "value": outcome.problem.value, "loss": outcome.row["loss"]}
    place = {"epoch": progress.epoch, "window": window.index, "is_culprit_known": bool(outcome.problem.culprits)}
    examples = {"rows": list(rows), "examples": [job.names(row) for row in rows[:20]], "num": len(rows)}
    autopsy = look_back(job, progress, window, before=outcome.before, scale=outcome.row["scale"])
    watch.tell("finding", progress.step, {**seen, **place, **examples, "post_mortem": autopsy})


def agree(job: Job, *wishes: bool) -> list[bool]:
    """The same answers on every rank: yes where one of them says yes. All ranks stop and save together."""
    if job.strategy.world == 1:
        return list(wishes)
    return [total > 0 for total in job.strategy.sums([float(wish) for wish in wishes])]


def timed(windows: Iterator[Window]) -> Iterator[tuple[Window, float]]:
    """Each window with the seconds that the loop waited for it."""
    while True:
        started = time.perf_counter()
        window = next(windows, None)
        if window is None:
            return
        yield window, time.perf_counter() - started
