"""`watch`: the doctor around a training loop that is not ours."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from torchstone.core import ranks
from torchstone.core.catalog import all_rules
from torchstone.core.curves import History
from torchstone.core.errors import StoneError
from torchstone.core.finding import SEVERITIES, Finding
from torchstone.core.recipe import Rules
from torchstone.core.rule import Rule
from torchstone.flows.ask_curves import LIVE, asked_curves, history_of_rows, is_over, long_enough, patient
from torchstone.flows.judge import explained, is_ignored
from torchstone.flows.rulebook import check_codes
from torchstone.flows.seen import nothing_found
from torchstone.rules._watched import Seen

# Where the rules are that judge the rows of a watched loop.
FOLDERS = tuple(f"torchstone.rules.{room}" for room in ("protocol", "meaning", "feeding", "health"))

Rows = Sequence[Mapping[str, Any]]


class Doctor:
    """Watches a training loop between `start` and `stop`, or as a context; the loop's numbers stay what they are.

    findings: what was found so far, errors first. Each finding is told once, when it is first seen, through `tell`
    and `callback`. write: takes each line of the end: what was seen where nothing was found, and mistakes of ours.
    asked: the rules to ask; None: all that judge watched loops. Those of curves are asked of the rows, too, unless
    `curves` names those that its owner brings curves for (`say_curves`, `withdraw`).
    save_batch: the folder in which the batches are kept whose loss or gradient was not finite; None: none is.
    A mistake of ours never stops the loop, unless TORCHSTONE_STRICT is set, which is for those who mend it.
    """

    def __init__(
        self, *, rules: Rules | None = None, tell: Callable[[Finding], None] | None = None,
        callback: Callable[[Finding], None] | None = None, write: Callable[[str], None] | None = None,
        asked: Iterable[Rule] | None = None, curves: Iterable[Rule] | None = None, save_batch: Path | None = None,
    ) -> None:  # fmt: skip
        self._rules, self._given = rules or Rules(), None if asked is None else list(asked)
        self._tell, self._callback, self._write = tell, callback, write
        self._found: dict[tuple[str, str], Finding] = {}
        self._asked: list[Rule] | None = None
        self._curves = asked_curves(self._rules) if curves is None and asked is None else list(curves or ())
        self._are_of_rows = asked is None
        self._patient: list[Rule] = []
        self._save_batch = save_batch
        self._wiring: Any = None
        self.is_on = False
        self.mistakes: dict[str, str] = {}

    def start(
        self, *, model: Any = None, optimizer: Any = None, is_script: bool = False,
        wiring: Callable[[Any], Any] | None = None,
    ) -> Doctor:  # fmt: skip
        """Attaches the doctor; `model` and `optimizer` are those that were built before.

        is_script: whether all of a script runs under it, from the first line on. wiring: makes what writes rows to a
        recorder, where it is not hooks of torch.
        After `stop` it may be started again, with rows and findings of its own. Raises StoneError while it watches.
        """
        if self.is_on:
            raise StoneError("this doctor is already watching", fix="stop it first, or make another: ts.watch(…)")
        self._found, self.mistakes = {}, {}
        recorder = importlib.import_module("torchstone.engines.attach.recorder")
        make = wiring or importlib.import_module("torchstone.engines.attach.wiring").Wiring
        every = (rule for folder in FOLDERS for rule in all_rules(folder))
        given = every if self._given is None else self._given
        self._asked = [rule for rule in given if not is_ignored(rule.code, self._rules.ignore)]
        self._patient = patient(self._curves)
        self._wiring = make(recorder.Recorder(self.judge))
        if self._save_batch is not None:
            importlib.import_module("torchstone.engines.attach.kept_batch").keep(self._wiring, self._save_batch)
        self._wiring.recorder.note("start", is_script=is_script)
        self.is_on = True
        try:
            self._wiring.attach()
            self._wiring.take(model=model, optimizer=optimizer)
        except Exception as error:
            self._wiring.recorder.is_on = False
            self._wiring.detach()
            if isinstance(error, StoneError) or "TORCHSTONE_STRICT" in os.environ:
                self.is_on = False
                raise
            self.mistakes["start"] = f"{type(error).__name__}: {error}"
        return self

    def stop(self) -> None:
        """Looks once more, then takes the doctor off; a second call does nothing."""
        if not self.is_on:
            return
        self.is_on = False
        try:
            self._wiring.detach()
        finally:
            self.mistakes |= self._wiring.recorder.mistakes
        if self._write is None:
            return
        for name, mistake in self.mistakes.items():
            self._write(f"torchstone: a mistake of ours, the loop is not touched by it: {name}: {mistake}")
        if not self.findings:
            self._write_line(nothing_found(self.rows))

    def _write_line(self, text: str) -> None:
        if self._write is not None:
            self._write(f"torchstone  {text}")

    def leave(self) -> None:
        """In a process that was forked from the watched one: takes the doctor off without a word, and forgets."""
        self._write, self.is_on, self._found, self.mistakes = None, False, {}, {}
        self._wiring.recorder.is_on = False

    def remember(self, told: Iterable[Finding]) -> None:
        """Takes findings as told before, as of a run that goes on: they are not told again."""
        for finding in told:
            self._found.setdefault(_key(finding), finding)

    def judge(self, rows: Rows) -> None:
        """Asks every rule about the rows, and those of curves that may speak now; what is new is told."""
        rows = Seen(rows)
        self._ask(self._asked or (), rows)
        history = history_of_rows(rows) if self._are_of_rows and self._curves else None
        if history is None:
            return
        if is_over(rows):
            for text in self.withdraw(history):
                self._write_line(text)
            self._ask(long_enough(history, self._curves), history)
        else:
            self.say_curves(history)

    def say_curves(self, history: History) -> None:
        """Asks those rules of curves that are safe to say of a loop that goes on."""
        self._ask(self._patient, history)

    def withdraw(self, history: History) -> list[str]:
        """Takes back what was said of curves and does not hold of the whole ones, with one line for each of these; what
        does hold gets the numbers of the end.
        """
        asked = [rule for rule in self._curves if rule.code in LIVE]
        holds = {(found.code, found.where.field): found for rule in asked for found in self._findings(rule, history)}
        gone, lines = self._gone(), []
        for key, finding in list(self._found.items()):
            newest = holds.get((finding.code, finding.where.field))
            if newest is not None:
                self._found[key] = replace(newest, severity=finding.severity)
            elif finding.code in LIVE and finding.code not in self.mistakes:
                del self._found[key]
                place = "" if finding.where.step is None else f" of step {finding.where.step}"
                text = f"{finding.code}{place} is taken back: the whole run does not show it"
                lines += [] if finding.code in gone else [text]
        return lines

    def _ask(self, rules: Iterable[Rule], subject: Any) -> None:
        for rule in rules:
            for finding in self._findings(rule, subject):
                self._take(finding)

    def _findings(self, rule: Rule, subject: Any) -> list[Finding]:
        """What a rule finds; a mistake of its own is kept for the end."""
        try:
            return list(rule.check(subject))
        except Exception as error:
            if "TORCHSTONE_STRICT" in os.environ:
                raise
            self.mistakes.setdefault(rule.code, f"{type(error).__name__}: {error}")
            return []

    def _take(self, finding: Finding) -> None:
        key = _key(finding)
        if key in self._found:
            return
        severity = self._rules.severity.get(finding.code, finding.severity)
        finding = self._found[key] = replace(finding, severity=severity)
        if finding.code in self._gone():
            return
        for hear in (self._tell, self._callback):
            if hear is not None:
                self._hand(hear, finding)

    def _hand(self, hear: Callable[[Finding], None], finding: Finding) -> None:
        try:
            hear(finding)
        except Exception as error:
            if "TORCHSTONE_STRICT" in os.environ:
                raise
            name = getattr(hear, "__qualname__", type(hear).__name__)
            self.mistakes.setdefault(f"callback {name}", f"{type(error).__name__}: {error}")

    def _gone(self) -> set[str]:
        """Codes of findings that another one explains."""
        return explained(self._found.values(), [*(self._asked or ()), *self._curves])

    @property
    def findings(self) -> list[Finding]:
        """All findings that no other one explains, errors first, then by code."""
        gone = self._gone()
        kept = [finding for finding in self._found.values() if finding.code not in gone]
        return sorted(kept, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was seen: the rows that docs/watched-rows.md describes."""
        rows: list[dict[str, Any]] = self._wiring.recorder.rows if self._wiring is not None else []
        return rows

    def __enter__(self) -> Doctor:
        return self if self.is_on else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _key(finding: Finding) -> tuple[str, str]:
    """What makes two findings one: code and place, at whatever step."""
    where = finding.where
    return finding.code, f"{where.path}:{where.line} {where.layer} {where.field}"


def watch(
    model: Any = None, optimizer: Any = None, scheduler: Any = None, *, ignore: Iterable[str] = (),
    callback: Callable[[Finding], None] | None = None, is_quiet: bool = False,
) -> Doctor:  # fmt: skip
    """The doctor around a plain PyTorch loop: `with ts.watch(model, optimizer) as doctor: …`.

    model, optimizer, scheduler: what was built before, one or several of each; what is built inside is seen anyway.
    ignore: codes of rules or families. callback: called with each finding as it is first seen. Findings also go to
    standard error, one line each, unless is_quiet. Watching begins with this call and ends with the block, or with
    `doctor.stop()`. The loop's numbers do not change by a bit.
    """
    doctor = doctor_for(ignore, callback, is_quiet=is_quiet)
    if optimizer is None and scheduler is not None:
        schedulers = scheduler if isinstance(scheduler, (list, tuple)) else [scheduler]
        optimizer = [one.optimizer for one in schedulers if hasattr(one, "optimizer")]
    return doctor.start(model=model, optimizer=optimizer)


def doctor_for(ignore: Iterable[str], callback: Callable[[Finding], None] | None, *, is_quiet: bool) -> Doctor:
    """A doctor that is not attached yet, which tells its findings on standard error unless is_quiet.

    Raises StoneError where `ignore` names no rule.
    """
    tell, write = (None, None) if is_quiet else (say, write_line)
    rules = check_codes(Rules(ignore=list(ignore)), lambda field: "ignore")
    return Doctor(rules=rules, tell=tell, callback=callback, write=write)


def say(finding: Finding) -> None:
    """One line about a finding, on standard error."""
    write_line(line(finding))


def write_line(text: str) -> None:
    """A line on standard error, with the rank in front where several processes train together."""
    print(ranks.marked(text), file=sys.stderr, flush=True)


def line(finding: Finding) -> str:
    """`torchstone RUN301 error  train.py:71  what was seen · what to do`."""
    where = finding.where
    place = f"  {Path(where.path).name}{f':{where.line}' if where.line else ''}" if where.path else ""
    step = f"  step {where.step}" if where.step is not None else ""
    sure = "" if finding.confidence == "certain" else " (likely)"
    return f"torchstone {finding.code} {finding.severity}{sure}{place}{step}  {finding.what} · {finding.fix}"
