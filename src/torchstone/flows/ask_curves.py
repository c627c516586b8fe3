"""Which of the rules of curves are asked while more is known than a log tells: of runs of ours and of watched loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
# Asked of that many steps only: what is flat in a shorter run is the end of its schedule (starting point).
FLAT, FEWEST_STEPS = ("RUN808", "RUN809"), 200


def asked_curves(rules: Rules) -> list[Rule]:
    """The rules of curves to ask at the end of a run or loop; those that `rules` ignores are left out."""
    return [rule for rule in all_rules(CURVES) if rule.code in ASKED and not is_ignored(rule.code, rules.ignore)]


def history_of_rows(rows: Sequence[Mapping[str, Any]]) -> History | None:
    """The curves of a watched loop that is over; None while it goes on, where they do not reach to the end, and where
    the loss may chase a moving target: no classes are learnt, and no loader is trained with.
    """
    is_over = bool(rows) and rows[-1].get("event") == "end"
    if not is_over or not (has_classes(rows) or any(row["backwards"] for row in of(rows, "pass"))):
        return None
    return _history(points_of_rows(rows))


def history_of_trace(trace: Iterable[Mapping[str, Any]]) -> History | None:
    """The curves of a run of ours; None where it holds no loss."""
    return _history(points_of_trace(trace))


def _history(points: Mapping[str, Points]) -> History | None:
    series: dict[str, Curve] = series_of(dict(points))[0]
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
