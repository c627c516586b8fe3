"""The doctor of our own runs: which rules it asks while a run goes on, and what stands of it in the trace."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from math import ceil
from pathlib import Path
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.errors import StoneError
from torchstone.core.event import Event
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.core.rule import Rule
from torchstone.core.trace import read_trace
from torchstone.flows.ask_curves import CURVES, LIVE, asked_curves, history_of_points, history_of_trace, judge_curves
from torchstone.flows.judge import explained, is_ignored, judge, selected
from torchstone.flows.read_curves_own import add_event, points_of_trace
from torchstone.flows.read_curves_points import Points
from torchstone.flows.watch import FOLDERS, Doctor

TRACE, AHEAD = "torchstone.rules.trace", "torchstone.rules.preflight"
# The rules for other people's loops that have something to see in ours. What our loop cannot do wrong is not asked,
# nor what a rule of rules/trace asks of the ledger: RUN601, RUN605 and RUN608 are RUN201, RUN204 and RUN203 there.
ASKED = (
    "RUN306", "RUN311", "RUN324", "RUN342", "RUN401", "RUN408", "RUN501", "RUN502", "RUN503", "RUN602", "RUN603",
    "RUN604", "RUN606", "RUN607", "RUN609", "RUN614", "RUN615",
)  # fmt: skip
# The mend in the words of a recipe, where a rule speaks of code.
MENDS = {
    "RUN306": "See whether the model uses these layers; freeze what is not meant to learn (train.freeze, adapter).",
    "RUN342": "Raise train.batch_size, or choose a model with another norm (model.norm: group).",
    "RUN401": "Take the softmax out of the model: the loss applies it.",
    "RUN408": "Scale the inputs, or start from the default initialisation (model.init).",
    "RUN501": "Mend or drop the examples with missing or infinite numbers.",
    "RUN503": "See what the augmentation does to pictures, and whether validation is from the same source.",
    "RUN602": "Lower optimizer.lr, tenfold for a start, or give the schedule a warm-up.",
    "RUN603": "Raise optimizer.lr, tenfold for a start.",
    "RUN604": "Lower optimizer.lr, or give the schedule a warm-up.",
    "RUN606": "The best epoch is kept and judged; train.patience ends a run there. Augmentation, weight decay, dropout "
              "or more data help.",
    "RUN609": "Lower optimizer.lr, tenfold for a start; clip gradients (train.clip_norm).",
    "RUN614": "Lower optimizer.lr, tenfold for a start, or give the schedule a warm-up; clip gradients "
              "(train.clip_norm).",
    "RUN615": "Look at the held-out examples of the largest targets: mend or drop those that are wrong (DAT212).",
    "RUN607": "Look at its examples and labels; set sampler to class_balanced, or weigh the classes of the loss.",
}  # fmt: skip
_FIELDS = frozenset(one.name for one in fields(Finding))


# Points of a curve that are looked at while a run goes on, and how much longer it must be for the next look: so that
# all looks together cost a share of the run that does not grow with it.
MOST, GROWTH = 1_000, 1.1


class RunDoctor:
    """The doctor of a run of ours: rules for loops judge the rows that hooks and events write, and those of curves that
    may be said live the run's own curves, as `listen` is told of them.

    hear: gets each finding as it is first seen. trace: of a run that goes on, what came before is read from there.
    """

    def __init__(
        self, rules: Rules, asked: Iterable[Rule], hear: Callable[[Finding], None], trace: Path | None = None
    ) -> None:
        self._doctor = Doctor(rules=rules, asked=asked, curves=asked_curves(rules),
                              callback=lambda finding: hear(in_our_words(finding)))
        self._trace = trace
        self._points: defaultdict[str, Points] = defaultdict(Points)
        self._num = {"step": 0, "validation": 0}
        self._next = {"step": 100, "validation": 1}

    @property
    def mistakes(self) -> dict[str, str]:
        """Mistakes of the doctor's own, by where they were made."""
        return self._doctor.mistakes

    def start(self, *, wiring: Callable[[Any], Any]) -> RunDoctor:
        """Attaches the doctor; what the trace holds was seen, and told, before."""
        self._doctor.start(wiring=wiring)
        before = self._before()
        self._points.update(points_of_trace(before))
        self._num = {kind: sum(row.get("event") == kind for row in before) for kind in self._num}
        self._doctor.remember(told_in(before))
        return self

    def _before(self) -> list[dict[str, Any]]:
        """The trace of a run that goes on."""
        if self._trace is None or not self._trace.is_file():
            return []
        try:
            return read_trace(self._trace)
        except StoneError:  # a damaged line is named at the end of the run, when all of the trace is judged
            return []

    def stop(self) -> None:
        """Looks once more, then takes the doctor off."""
        self._doctor.stop()

    def listen(self, event: Event) -> list[str]:
        """Takes what the loop tells, and looks at the curves when they have grown enough; at the end it gives a line
        for each finding of theirs that no longer holds. A mistake of ours never ends the run.
        """
        try:
            return self._look(event)
        except Exception as error:
            if "TORCHSTONE_STRICT" in os.environ:
                raise
            self.mistakes.setdefault("curves", f"{type(error).__name__}: {error}")
            return []

    def _look(self, event: Event) -> list[str]:
        add_event(self._points, event.kind, event.step, event.values)
        if event.kind == "finish":
            whole = history_of_points(self._points)
            return [] if whole is None else self._doctor.withdraw(whole)
        if event.kind in self._num:
            num = self._num[event.kind] = self._num[event.kind] + 1
            if num >= self._next[event.kind]:
                self._next[event.kind] = ceil(max(num + 1, GROWTH * num))
                seen = history_of_points(self._points, most=MOST)
                if seen is not None:
                    self._doctor.say_curves(seen)
        return []


def doctor_of_a_run(rules: Rules, trace: Path | None = None) -> Callable[[Callable[[Finding], None]], RunDoctor] | None:
    """What makes the doctor of a run, which tells findings to a function; None where all of its rules are ignored.

    `rules.ignore` and `rules.severity` of the recipe are obeyed. trace: the run's own, which it goes on with.
    """
    asked = [rule for folder in FOLDERS for rule in all_rules(folder)
             if rule.code in ASKED and not is_ignored(rule.code, rules.ignore)]  # fmt: skip
    if not asked and not asked_curves(rules):
        return None
    return lambda hear: RunDoctor(rules, asked, hear, trace)


def in_our_words(finding: Finding) -> Finding:
    """The finding with a mend that a recipe can take."""
    return replace(finding, fix=MENDS.get(finding.code, finding.fix))


def told_in(trace: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """What the doctor told while a run went on: the first of each code and place."""
    told: dict[tuple[str, str], Finding] = {}
    for row in trace:
        if row.get("event") == "finding" and "code" in row:
            finding = Finding.from_json({key: value for key, value in row.items() if key in _FIELDS})
            told.setdefault((finding.code, f"{finding.where.layer} {finding.where.field}"), finding)
    return list(told.values())


def judge_trace(trace: Sequence[Mapping[str, Any]], rules: Rules, *, has_curves: bool = True) -> list[Finding]:
    """All that is found in a run: what its doctor has told, what the whole trace shows, and with `has_curves` what its
    curves do; one finding per cause. What was told of curves stands only if the whole ones still show it.
    """
    found = judge(trace, TRACE, rules) + [finding for finding in told_in(trace) if finding.code not in LIVE]
    if has_curves:
        shown = judge_curves(history_of_trace(trace), asked_curves(rules))
        found += selected([in_our_words(finding) for finding in shown], rules)
    return without_explained(found)


def without_explained(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those that have the same cause as another one, by what the rules say that they explain."""
    findings = list(findings)
    rules = [rule for folder in (TRACE, *FOLDERS, AHEAD, CURVES) for rule in all_rules(folder)]
    gone = explained(findings, rules)
    return [finding for finding in findings if finding.code not in gone]
