"""A job in its folder: restored if it was cut off, watched, recorded, and judged at the end."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from torchstone.core import store
from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Observer, Stop
from torchstone.core.own_loop import loop_digest
from torchstone.core.plan import Plan
from torchstone.core.run import Run, papers
from torchstone.core.trace import TraceWriter
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.adapters import adapted_layers, write_merged
from torchstone.engines.pytorch.assemble import Setting, assemble, fit_encoding, start
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.judgement import load_best, write_predictions
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.preflight.ahead import Care, announcing
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.remarks import Remarks, remarks_on
from torchstone.engines.pytorch.saver import Saver
from torchstone.engines.pytorch.watched import Learnt, attended
from torchstone.engines.pytorch.weights.given import without_weights
from torchstone.engines.pytorch.weights.report import write_report

# Epochs may last milliseconds; writing and syncing a checkpoint takes some 10 ms. So much work may be done again.
EPOCH_GAP_S = 5.0


def drive(
    run: Run, setting: Setting, observers: Sequence[Observer], *, resume: bool, notes: Sequence[str] = (),
    care: Care | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Trains in the run's folder, on every rank; returns the content of result.json.

    care: who looks at a new run before its first step and may block it, and who makes the doctor that watches it, on
    rank 0; their findings are events. A blocked run has the status "blocked" and has left no event.

    The setting's encoding is taken from the run's folder, or learnt and put there.

    Raises StoneError where no checkpoint can be trusted, the disk is full, or another rank has died.
    """
    strategy = start(setting.plan)
    try:
        setting = replace(setting, encoding=_encoding(run, setting, strategy.rank == 0))
        strategy.barrier()  # the run's folder is made by rank 0
        recorder = Recorder(run.trace) if strategy.rank == 0 else None
        watchers: list[Observer] = [] if recorder is None else [*observers, recorder]
        if resume and checkpoint.listed(run.checkpoints):
            setting = replace(setting, plan=without_weights(setting.plan))
        job = assemble(setting, strategy, _saver(run, setting.plan, recorder))
        if strategy.rank == 0:
            write_report(run, job.model)
        progress, told = _restored(job, run, recorder) if resume else (Progress(), [])
        for watcher in watchers:
            for text in [*notes, *told]:
                watcher(Event("note", progress.step, {"text": text}))
        care = care or Care()
        seen = care.ahead(setting, job) if care.ahead is not None and not resume else None
        if seen is not None and seen.is_blocked:
            return {"status": "blocked"}
        watchers = announcing(seen, watchers)
        weights = setting.plan.get("loss.options.class_weights")
        learnt = Learnt(str(setting.plan["loss.name"]), setting.dataset.classes, setting.dataset.target_name,
                        is_weighted=weights is not None)  # fmt: skip
        with attended(job, care.doctor, watchers, learnt, step=progress.step) as attending:
            return _train(run, setting, job, progress, recorder, [*attending, *watchers])
    except RuntimeError as error:
        raise _lost_rank(error, run) or error from error
    finally:
        strategy.close()


def _train(
    run: Run, setting: Setting, job: Job, progress: Progress, recorder: Recorder | None, watchers: Sequence[Observer]
) -> dict[str, Any]:
    is_first = job.strategy.rank == 0
    with Interrupts() as interrupts:
        started = {
            "total_steps": job.total_steps, "epochs": job.epochs, "steps_per_epoch": job.feed.windows_per_epoch,
            "world": job.strategy.world, "metric": setting.plan["metric"],
            "papers": papers(run) if is_first else {}, "loop": loop_digest(),
            "is_anomaly_on": torch.is_anomaly_enabled(),
        }  # fmt: skip
        remarks = Remarks(job.feed.source, watchers)
        listeners: list[Observer] = [*watchers, remarks]
        for listener in listeners:
            listener(Event("start", progress.step, started))
        if progress.step == 0:
            remarks.tell(0, remarks_on(job))
        try:
            fit(job, progress, [*listeners, interrupts])
        except (StoneError, RuntimeError):  # a full disk; a rank that is lost, memory that ran out
            progress.status = "failed"
            if recorder is not None:
                with contextlib.suppress(StoneError):  # the disk may be full: what ended the run matters more
                    recorder.close()
                _write_result(run, progress, "an error ended the run")
            raise
    if recorder is not None:
        recorder.close()
    job.strategy.barrier()  # rank 0 has written the best checkpoint, which every rank now reads
    if progress.best is not None and job.validation is not None:
        write_predictions(run, setting, job, is_first=is_first)
    if is_first and adapted_layers(job.model) and checkpoint.listed(run.checkpoints):
        load_best(run, job)
        write_merged(run, job.model)
    return _write_result(run, progress, progress.reason) if is_first else {"status": progress.status}


def _write_result(run: Run, progress: Progress, reason: str | None) -> dict[str, Any]:
    result = {
        "status": progress.status, "steps": progress.step, "examples_seen": progress.examples_seen,
        "best": progress.best, "last": progress.last, "reason": reason,
    }  # fmt: skip
    try:
        store.write_json(run.result, result)
    except StoneError:
        if progress.status != "failed":  # the error that ended the run matters more than its record
            raise
    told: dict[str, Any] = store.clean(result)
    return told


def _encoding(run: Run, setting: Setting, is_first: bool) -> dict[str, Any]:
    path = run.encoding
    if path.is_file():
        try:
            stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return stored
        except ValueError as error:
            fix = "remove the file: it is learnt again from the same data"
            raise StoneError(f"run {run.name} is damaged: {error}", where=str(path), fix=fix) from error
    encoding = fit_encoding(setting)
    if is_first:
        store.write_json(path, encoding)
    return encoding


def _saver(run: Run, plan: Plan, recorder: Recorder | None) -> Saver:
    checkpoint.sweep_leftovers(run.checkpoints)
    return Saver(
        run.checkpoints,
        every_windows=int(plan["checkpoint.every_steps"] or 0),
        every_s=60.0 * float(plan["checkpoint.every_minutes"] or 0),
        keep=int(plan["checkpoint.keep"]),
        epoch_gap_s=EPOCH_GAP_S,
        mark=recorder.mark if recorder else lambda: 0,
    )


def _restored(job: Job, run: Run, recorder: Recorder | None) -> tuple[Progress, list[str]]:
    """Where the run stands, and what is to be said of it; the trace is cut back to that place."""
    path, refused = checkpoint.newest(run.checkpoints)
    told = [f"checkpoint {r.path.name} is not used: {r.reason}" for r in refused]
    if path is None and refused:
        raise StoneError(
            f"none of the run's {len(refused)} checkpoints can be trusted: {'; '.join(told)}",
            where=str(run.checkpoints),
            fix="start a new run; or move these checkpoints away, and this one starts again from its first step",
        )
    if path is None:
        if recorder is not None:
            recorder.cut(0)
        return Progress(), ["no checkpoint was complete yet: the run starts again from its first step"]
    content = checkpoint.read(path)
    progress, more = snapshot.restore(job, content)
    best = str(progress.extra.get("best_checkpoint", ""))
    assert job.saver is not None
    job.saver.resumed_from(path, best if (run.checkpoints / best).is_dir() else "")
    if recorder is not None:
        recorder.cut(int(content.state["trace_bytes"]))
    told += [*more, f"resumed from {path.name}"]
    if progress.epoch >= job.epochs:
        told.append(
            f"all {job.epochs} epochs are made already: nothing is trained; more: "
            f"torchstone train --resume {run.name} --set train.epochs={2 * job.epochs}"
        )
    return progress, told


class Recorder:
    """The observer that writes the trace: one row per event."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = TraceWriter(path)

    def __call__(self, event: Event) -> None:
        row = {"event": event.kind, "step": event.step, "time": time.time()}
        row.update(event.values)
        self._writer.append(row)

    def mark(self) -> int:
        """The trace's length in bytes, after everything so far is in the file."""
        self._writer.flush()
        return self._path.stat().st_size

    def cut(self, size: int) -> None:
        """Drops what a cut-off run wrote after its checkpoint: it is written again."""
        self._writer.close()
        with store.plain_os_errors(self._path), open(self._path, "r+b") as file:
            file.truncate(min(size, self._path.stat().st_size))
        self._writer = TraceWriter(self._path)

    def close(self) -> None:
        """Everything is in the file."""
        self._writer.close()


class Interrupts:
    """Ctrl-C and SIGTERM end the run after its step, with a checkpoint; a second Ctrl-C ends it at once."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if self.reason is not None:
            raise KeyboardInterrupt
        self.reason = f"interrupted by {signal.Signals(number).name}"

    def __call__(self, event: Event) -> Stop | None:
        return Stop(self.reason) if self.reason else None


def _lost_rank(error: RuntimeError, run: Run) -> StoneError | None:
    """A dead or silent rank, told from other errors by what gloo and NCCL say of it."""
    signs = ("connection closed by peer", "connection reset by peer", "timed out", "timeout", "nccl")
    if not isinstance(error, torch.distributed.DistError) and not any(s in str(error).lower() for s in signs):
        return None
    return StoneError(
        f"another rank has died or does not answer: {str(error).splitlines()[0][:200]}",
        fix=f"torchrun … -m torchstone train --resume {run.name}; with --max-restarts 3, torchrun does it by itself",
    )
