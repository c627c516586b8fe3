"""The bar of a run: an observer that shows how far it is, how fast, and how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from torchstone.core.event import Event, Observer, Stop

REFRESH_S = 0.1  # a person sees no more than ten changes a second, and a terminal should not be flooded
BAR = 24  # columns


def progress_observer(
    total_steps: int | None = None, *, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Observer:
    """An observer that prints a run's progress to `out` (standard output).

    On a terminal one line is redrawn at most ten times a second; elsewhere there is one line per epoch, none per
    step. total_steps: optimizer steps of the whole run; a start event that has `total_steps` overrules it.
    """
    return _Progress(total_steps, out or sys.stdout, clock)


def reading_progress(
    out: TextIO, *, clock: Callable[[], float] = time.monotonic, label: str = "reading"
) -> Callable[[int, int, str], None]:
    """A function of (done, total, what) that redraws one line, ten times a second at most, and wipes it at last."""
    last = float("-inf")

    def tell(done: int, total: int, what: str) -> None:
        nonlocal last
        now = clock()
        if total and done >= total:
            out.write("\r\x1b[2K")
        elif now - last >= REFRESH_S:
            last = now
            out.write(f"\r\x1b[2K{label:<12}{bar(done, total)} {done:,}/{total:,} {what}")
            out.flush()

    return tell


class _Progress:
    """What was seen since the last line, and where the run stands."""

    def __init__(self, total_steps: int | None, out: TextIO, clock: Callable[[], float]) -> None:
        self.total, self.out, self.clock = total_steps, out, clock
        self.is_live = out.isatty()
        self.epochs: int | None = None
        self.metric: str | None = None
        self.first_step = 0
        self.begin = self.lap = clock()
        self.next = 0.0
        self.clear()
        self.others = {
            "start": self.start,
            "validation": self.validation,
            "finding": self.finding,
            "note": self.note,
            "stop": self.stop,
            "finish": self.finish,
        }

    def __call__(self, event: Event) -> Stop | None:
        if event.kind == "step":  # the hot path: a million of these may come
            values = event.values
            self.examples += values["examples"]
            self.wait_ms += values["wait_ms"]
            if self.is_live and (now := self.clock()) >= self.next:
                self.next = now + REFRESH_S
                self.draw(event.step, values, now)
        elif event.kind in self.others:
            self.others[event.kind](event.step, event.values)
        return None

    def clear(self) -> None:
        self.examples, self.wait_ms = 0, 0.0
        self.lap = self.clock()

    def start(self, step: int, values: Any) -> None:
        self.total = values.get("total_steps", self.total)
        self.epochs, self.metric = values.get("epochs"), values.get("metric")
        self.first_step, self.begin = step, self.clock()
        self.clear()

    def draw(self, step: int, values: Any, now: float) -> None:
        total = f"/{self.total:,}" if self.total else ""
        text = f"{self.epoch(values)}{bar(step, self.total)} step {step:,}{total} · loss {number(values['loss'])}"
        text += f" · {self.rates(now)}{self.left(step, now)}"
        self.out.write(f"\r\x1b[2K{text}")
        self.out.flush()

    def epoch(self, values: Any) -> str:
        of = f"/{self.epochs}" if self.epochs else ""
        epoch = values.get("epoch")
        return " " * 12 if epoch is None else f"epoch {int(epoch) + 1}{of} ".ljust(12)

    def rates(self, now: float) -> str:
        seconds = max(now - self.lap, 1e-9)
        return f"{self.examples / seconds:,.0f} examples/s · data wait {self.wait_ms / seconds / 10:.0f} %"

    def left(self, step: int, now: float) -> str:
        done = step - self.first_step
        if not self.total or done <= 0:
            return ""
        return f" · {duration((now - self.begin) / done * max(self.total - step, 0))} left"

    def line(self, text: str) -> None:
        self.out.write(f"\r\x1b[2K{text}\n" if self.is_live else f"{text}\n")
        self.out.flush()

    def validation(self, step: int, values: Any) -> None:
        seconds = float(values.get("seconds") or 0.0)
        rates = self.rates(self.clock() - seconds)  # the rate of training, without the time of validation
        scores = values["metrics"]
        metrics = " · ".join(f"val {name} {number(scores[name])}" for name in self.shown(scores))
        best = "  best so far" if values.get("is_best") else ""
        train = f"loss {number(values.get('train_loss'))} · "
        counted = f"{values['n']:,} of {values['of']:,}"
        self.line(f"{self.epoch(values)}{train}{metrics} ({counted}) · {rates}{self.left(step, self.clock())}{best}")
        self.clear()

    def shown(self, metrics: Any) -> list[str]:
        """The loss, and the metric that chooses the best checkpoint, or the first where none is known to choose."""
        others = [name for name in metrics if name != "loss"]
        chosen = [self.metric] if self.metric in others else others[:1]
        return [*chosen, *(["loss"] if "loss" in metrics else [])]

    def finding(self, step: int, values: Any) -> None:
        sure = " (likely)" if values.get("confidence") == "likely" else ""
        head = f"{values['code']} {values['severity']}{sure}  " if "code" in values else ""
        text = values.get("what") or f"{values.get('problem')}: {values.get('value')}"
        self.line(f"{'doctor':<12}{head}{text} (step {step:,})")

    def note(self, step: int, values: Any) -> None:
        self.line(f"{values.get('by', 'note'):<12}{values.get('text', '')}")

    def stop(self, step: int, values: Any) -> None:
        self.line(f"{'stop':<12}{values.get('reason', '')} (step {step:,})")

    def finish(self, step: int, values: Any) -> None:
        reason = f": {values['reason']}" if values.get("reason") else ""
        took = duration(self.clock() - self.begin)
        self.line(f"{values.get('status', 'finished'):<12}after {step:,} steps in {took}{reason}")


def bar(step: int, total: int | None) -> str:
    """A bar of BAR columns; empty where the total is not known."""
    if not total:
        return ""
    filled = min(BAR, BAR * step // total)
    return "━" * filled + "╌" * (BAR - filled)


def number(value: Any) -> str:
    """A loss or metric with four digits; `none` where there is none."""
    return "none" if value is None else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: 0:07, 12:30, 3:05:00."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
