"""What was seen of a loop: rows of plain values, bounded in number, and the clock of what looking has cost."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, ParamSpec

import torch

# By which the cost of looking is held against the time that the loop takes.
clock = time.perf_counter
Row = dict[str, Any]
P = ParamSpec("P")

# Rows of optimizer steps that are kept: the first ones whole, then the newest.
FIRST, NEWEST = 512, 512
# Optimizer steps after which the rows are looked at, then at every half as many more.
LOOKS = (3, 5, 8, 10, 15, 20, 30, 50, 75)
# Optimizer steps that are seen whole; afterwards looking may take this share of the time, in windows of so many steps.
WHOLE, BUDGET, WINDOW = 64, 0.01, 16
# Times that a cheap sign which has changed wakes the doctor before its time.
ALARMS = 8
# Folders whose frames are never the user's own line.
FOREIGN = tuple(f"{os.sep}{part}" for part in (f"site-packages{os.sep}", f"torchstone{os.sep}engines{os.sep}",
                                                f"torchstone{os.sep}flows{os.sep}",
                                                f"lib{os.sep}python"))


class Recorder:
    """The rows of one watched loop, in the order in which things happened.

    look: called with all rows when it is time to judge (a few early steps, the end of a pass over a loader, the
    end). Numbers that are still tensors are read one step later, so that a device is not waited for.
    is_on: False after `close`: wires that could not be put back then do nothing.
    """

    def __init__(self, look: Callable[[Sequence[Row]], None] | None = None) -> None:
        self._look = look
        self._others: list[tuple[int, Row]] = []
        self._first: list[tuple[int, Row]] = []
        self._newest: deque[tuple[int, Row]] = deque(maxlen=NEWEST)
        self._order = 0
        self._unread: list[tuple[Row, str, torch.Tensor, float]] = []
        self._next_look = 0
        self._looked_at = 0.0
        self._judging_s = 0.0  # what the last look took
        self._is_urgent = False
        self._alarms = ALARMS
        self.is_on = True
        self.mistakes: dict[str, str] = {}  # ours: where → what, told at the end
        self.step = 0  # optimizer steps so far, of all optimizers
        self.places: dict[str, str] = {}
        self.count: defaultdict[str, int] = defaultdict(int)
        self.is_awake = True  # asleep, only what is cheap is seen: counts, passes, schedulers, checkpoints
        self.own_s = 0.0  # spent on looking, without judging and without what is done asleep
        self._is_inside = False
        self._window = 0.0, clock()  # own_s and the time when it began
        self._wakes_at_s = 0.0
        self.wakes_at = 0  # the step at which the clock is asked whether to wake
        self._sleeps_at = WHOLE
        self.on_wake: list[Callable[[], None]] = []
        self.on_sleep: list[Callable[[], None]] = []
        self.on_turn: list[Callable[[], None]] = []  # called asleep, now and then: for what costs next to nothing

    def note(self, event: str, **values: Any) -> Row:
        """Writes a row; the same dictionary may be filled in later."""
        row: Row = {"event": event, "step": self.step, **values}
        self._order += 1
        self._others.append((self._order, row))
        return row

    def note_step(self, row: Row) -> None:
        """Writes the row of an optimizer step, forgets old ones, and looks when it is time."""
        self.read()
        self._order += 1
        (self._first if len(self._first) < FIRST else self._newest).append((self._order, row))
        if self._is_time():
            self.look(at_most_every_s=0.0 if self.step <= LOOKS[-1] else 1.0)
        if self.step == WHOLE - WINDOW:
            self._begin_window()
        if self.is_awake and self.step >= self._sleeps_at:
            self._fall_asleep()

    def _begin_window(self) -> None:
        self._window = self.own_s, clock()

    def _fall_asleep(self) -> None:
        """Stays awake where looking is cheap; else sleeps until the window's cost is half of the budget.

        The first steps are seen whole whatever that costs: only the last of them are held against the budget.
        """
        spent, now = self.own_s - self._window[0], clock()
        took = now - self._window[1]
        self._begin_window()
        if spent <= BUDGET * took:
            self._sleeps_at = self.step + WINDOW
            return
        self.look(at_most_every_s=0.0 if self._is_urgent else 1.0)
        self.is_awake, self._is_urgent, self.wakes_at = False, False, self.step + WINDOW
        self._wakes_at_s = now + spent / (BUDGET / 2)
        for rest in self.on_sleep:
            rest()

    def wake(self) -> None:
        """Is awake for the next steps at least, as where a second optimizer takes its first one."""
        was_asleep, self.is_awake = not self.is_awake, True
        self._sleeps_at = max(self._sleeps_at, self.step + WINDOW)
        if was_asleep:
            self._begin_window()
        for prepare in self.on_wake if was_asleep else ():
            prepare()

    def alarm(self, *, is_certain: bool = False) -> None:
        """Wakes, as a cheap sign has changed, a few times in all, always if `is_certain`; its window is judged."""
        if is_certain or self._alarms > 0:
            self._alarms -= not is_certain
            self._is_urgent = True
            self.wake()

    def sleep_on(self) -> None:
        """A step that was slept through; wakes once the share of time that looking took is half of the budget."""
        if self.step >= self.wakes_at:
            self.wakes_at = self.step + WINDOW
            for turn in self.on_turn:
                turn()
            if clock() >= self._wakes_at_s:
                self.wake()

    def add(self, name: str, number: int = 1) -> None:
        """Counts something."""
        self.count[name] += number

    def later(self, row: Row, key: str, value: torch.Tensor, factor: float = 1.0) -> None:
        """Fills `row[key]` with a tensor of one number times `factor`, read at the next step."""
        row[key] = None
        if has_numbers(value):
            self._unread.append((row, key, value.detach(), factor))

    def read(self) -> None:
        """Reads the tensors that wait."""
        waiting, self._unread = self._unread, []
        for row, key, value, factor in waiting:
            try:
                row[key] = float(value) * factor
            except (RuntimeError, ValueError) as error:  # a device has failed: the script's own error is to be seen
                self.mistakes.setdefault("read", f"{type(error).__name__}: {error}")

    def blame(self, where: str, error: Exception) -> None:
        """Keeps a mistake of ours for the end; raises it for those who mend it (TORCHSTONE_STRICT).

        For `safely`, and for the few operations done at each step while the doctor sleeps, which are spared its clock.
        """
        if is_for_numbers(error):
            return
        if "TORCHSTONE_STRICT" in os.environ:
            raise error
        self.mistakes.setdefault(where, f"{type(error).__name__}: {error}")

    def place(self, what: str) -> str | None:
        """The user's own line from which this was called, as `train.py:71`; looked up once per kind of thing."""
        if what not in self.places:
            line = users_line()
            if line is None:
                return None
            self.places[what] = line
        return self.places[what]

    def _is_time(self) -> bool:
        if self._next_look < len(LOOKS):
            due = LOOKS[self._next_look]
        else:
            due = int(LOOKS[-1] * 1.5 ** (self._next_look - len(LOOKS) + 1))
        if self.step < due:
            return False
        self._next_look += 1
        return True

    def look(self, *, at_most_every_s: float = 0.0) -> None:
        """Has the rows judged, unless that was done less than so many seconds ago.

        at_most_every_s: 0 for always; else it is also left out where it would take more than half of the budget.
        """
        began, pause_s = clock(), self._judging_s / (BUDGET / 2)
        is_early = bool(at_most_every_s) and began - self._looked_at < max(at_most_every_s, pause_s)
        if self._look is None or not self.is_on or is_early:
            return
        self._look(self.rows)
        self._looked_at = clock()
        self._judging_s = self._looked_at - began
        self.own_s -= self._judging_s  # whoever called it counts it as looking

    def close(self) -> None:
        """The last row and the last look; afterwards the wires do nothing."""
        if not self.is_on:
            return
        self.read()
        counts = {f"num_{name}": number for name, number in self.count.items()}
        self.note("end", steps=self.step, is_anomaly_on=torch.is_anomaly_enabled(), **counts)
        self.look()
        self.is_on = False

    @property
    def rows(self) -> list[Row]:
        """All rows that are kept, in order."""
        self.read()
        return [row for _, row in sorted([*self._others, *self._first, *self._newest], key=lambda pair: pair[0])]


def has_numbers(tensor: torch.Tensor) -> bool:
    """Whether values can be read: tensors on `meta`, and fake ones of a tracer, have a shape and no numbers."""
    return not tensor.is_meta and type(tensor).__name__ != "FakeTensor"


def is_for_numbers(error: Exception) -> bool:
    """Whether an error says that a tensor without numbers was read: a dry pass, of which nothing is to be told."""
    return type(error).__module__.startswith("torch._subclasses") or "meta tensor" in str(error)


def safely(method: Callable[P, None]) -> Callable[P, None]:
    """A wire's method that never stops the loop: a mistake of ours is kept for the end, and the loop goes on.

    The method's object has `recorder`; a method of a recorder that is off does nothing.
    """

    @functools.wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        recorder: Recorder = args[0].recorder  # type: ignore[attr-defined]
        if torch.compiler.is_compiling() or not recorder.is_on:
            return
        is_outer, began = not recorder._is_inside, clock()
        recorder._is_inside = True
        try:
            method(*args, **kwargs)
        except Exception as error:
            recorder.blame(method.__qualname__, error)
        finally:
            if is_outer:
                recorder._is_inside = False
                recorder.own_s += clock() - began

    return run


def users_frames(limit: int = 64) -> Iterator[FrameType]:
    """The user's own frames among the first `limit` below the caller, from the innermost outwards."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(limit):
        if frame is None:
            return
        if not any(part in frame.f_code.co_filename for part in FOREIGN):
            yield frame
        frame = frame.f_back


def users_names(thing: Any) -> list[str]:
    """The names that the user's own frames have for an object, from the innermost outwards."""
    return list(dict.fromkeys(
        name for frame in users_frames() for name, value in frame.f_locals.items() if value is thing
    ))  # fmt: skip


def users_line() -> str | None:
    """`path:line` of the innermost frame outside of installed packages; None where there is none."""
    frames = ((frame.f_code.co_filename, frame.f_lineno) for frame in users_frames())
    return next((f"{path}:{line}" for path, line in frames if not path.startswith("<")), None)
