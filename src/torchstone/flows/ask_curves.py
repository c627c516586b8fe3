"""Which of the rules of curves are asked of runs of ours and of watched loops: while they go on, and at their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.core.rule import Rule
from torchstone.flows.judge import is_ignored
from torchstone.flows.name_curves import Wanted, history_of
from torchstone.flows.read_curves_own import points_of_rows, points_of_trace
from torchstone.flows.read_curves_points import Points, series_of
from torchstone.rules._watched import of
from torchstone.rules.health.diverging import has_classes

CURVES = "torchstone.rules.curves"
# Asked of our own runs and of watched loops at their end. RUN801 and RUN802 are RUN201 and RUN204, or RUN601 and
# RUN605, there; that a run still got better (RUN807) is no news where its length was chosen on purpose.
ASKED = ("RUN803", "RUN804", "RUN805", "RUN806", "RUN808", "RUN809", "RUN810", "RUN811", "RUN812", "RUN813")
# Said while it goes on, too: what more steps seldom undo. The others judge where a curve ends: a plateau may yet fall.
LIVE = ("RUN803", "RUN804", "RUN806", "RUN810", "RUN812", "RUN813")
# Those that go by the steps of the beginning are not said live before FEWEST_STEPS: a warm-up may still be at work.
EARLY = ("RUN803", "RUN804", "RUN813")
# How much longer than at first sight a curve must have grown, and shown the same at each look (starting point).
PATIENCE = 1.25
# What later points cannot undo is said at first sight.
AT_ONCE = ("RUN812",)
# Asked of that many steps only: what is flat in a shorter run is the end of its schedule (starting point).
FLAT, FEWEST_STEPS = ("RUN808", "RUN809"), 200


def asked_curves(rules: Rules) -> list[Rule]:
    """The rules of curves to ask at the end of a run or loop; those that `rules` ignores are left out."""
    return [rule for rule in all_rules(CURVES) if rule.code in ASKED and not is_ignored(rule.code, rules.ignore)]


def patient(asked: Iterable[Rule]) -> list[Rule]:
    """Of these rules those that are safe to say while a loop goes on; each finds what it found at every look since the
    curves were shorter by PATIENCE. They remember their looks: ask them of one loop alone, in order.
    """
    return [replace(rule, check=_Patience(rule)) for rule in asked if rule.code in LIVE]


class _Patience:
    """A rule's check that waits until what it finds has stood for some time."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._since: dict[str | None, float] = {}

    def __call__(self, history: History) -> list[Finding]:
        step = last_step(history)
        is_early = self._rule.code in EARLY and step < FEWEST_STEPS
        found = [] if is_early else list(self._rule.check(history))
        self._since = {one.where.field: self._since.get(one.where.field, step) for one in found}
        wait = 1.0 if self._rule.code in AT_ONCE else PATIENCE
        return [one for one in found if step >= wait * self._since[one.where.field]]


def last_step(history: History) -> float:
    """The last step of any of its curves; 0 where there is none."""
    return max((curve.steps[-1] for curve in history.curves().values() if len(curve)), default=0.0)


def history_of_rows(rows: Sequence[Mapping[str, Any]]) -> History | None:
    """The curves of a watched loop so far; None where they do not reach to now, and where the loss may chase a moving
    target: no classes are learnt, and no loader is trained with.
    """
    if not (has_classes(rows) or any(row["backwards"] for row in of(rows, "pass"))):
        return None
    return history_of_points(points_of_rows(rows))


def is_over(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a watched loop has ended."""
    return bool(rows) and rows[-1].get("event") == "end"


def history_of_trace(trace: Iterable[Mapping[str, Any]]) -> History | None:
    """The curves of a run of ours; None where it holds no loss."""
    return history_of_points(points_of_trace(trace))


def history_of_points(points: Mapping[str, Points], *, most: int | None = None) -> History | None:
    """The curves of these series, by what they are; None without a training loss.

    most: at most so many points of each, evenly spread and the last among them, for a look that costs little.
    """
    if most is None:
        series: dict[str, Curve] = series_of(dict(points))[0]
    else:
        series = {name: one.thinned(name, most) for name, one in points.items()}
    train, validation = ("train/loss" if "train/loss" in series else None,
                         "validation/loss" if "validation/loss" in series else None)
    if train is None:
        return None
    return history_of("", series, Wanted(train=train, validation=validation))


def judge_curves(history: History | None, asked: Iterable[Rule]) -> list[Finding]:
    """What these rules find in a history; nothing where there is none."""
    return [] if history is None else [found for rule in long_enough(history, asked) for found in rule.check(history)]


def long_enough(history: History, asked: Iterable[Rule]) -> list[Rule]:
    """The rules for which the history is long enough."""
    is_short = history.train is not None and len(history.train) > 0 and history.train.steps[-1] < FEWEST_STEPS
    return [rule for rule in asked if not (is_short and rule.code in FLAT)]
