"""`doctor`: says what the logs of a training show, after the fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.curves import History
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.core.rule import Rule
from torchstone.flows.ask_curves import CURVES
from torchstone.flows.judge import is_ignored, selected
from torchstone.flows.name_curves import Wanted, history_of
from torchstone.flows.own_doctor import judge_trace, without_explained
from torchstone.flows.read_curves import read_logs
from torchstone.flows.read_curves_points import Log
from torchstone.flows.watch import FOLDERS
from torchstone.rules._watched import Seen


@dataclass(frozen=True)
class Diagnosis:
    """What one run's log shows. history: None where a trace or rows hold no loss; notes: how it was read."""

    log: Log
    history: History | None
    findings: list[Finding]
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The run as programs read it; steps are the log's own."""
        curves = self.history.curves() if self.history else {}
        return {
            "run": self.log.name, "kind": self.log.kind, "names": list(self.log.series),
            "curves": {what.replace(" ", "_"): {"name": curve.name, "points": len(curve)}
                       for what, curve in curves.items()},
            "notes": self.notes, "findings": [finding.to_json() for finding in self.findings],
        }  # fmt: skip


def diagnose(paths: Sequence[Path], *, wanted: Wanted, rules: Rules) -> list[Diagnosis]:
    """What the logs at these paths show, run by run.

    Raises StoneErrors for all paths that cannot be read and all runs whose curves cannot be told apart by their names.
    """
    made, errors = [], []
    for path in paths:
        try:
            logs = read_logs(path)
        except StoneError as error:
            errors.append(error)
            continue
        for log in logs:
            try:
                made.append(diagnosis_of(log, wanted, rules))
            except StoneError as error:
                errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else StoneErrors(errors)
    return made


def diagnosis_of(log: Log, wanted: Wanted, rules: Rules) -> Diagnosis:
    """What one log shows: its curves, and for our own files their rows, too. Raises StoneError where it has neither."""
    is_own = log.trace is not None or log.rows is not None
    history = None if is_own and not log.series else history_of(log.name, log.series, wanted)
    asked: list[tuple[Rule, Any]] = []
    found = judge_trace(log.trace, rules, has_curves=False) if log.trace is not None else []
    if log.rows is not None:
        rows = Seen(log.rows)
        asked += [(rule, rows) for folder in FOLDERS for rule in all_rules(folder)]
    if history is not None:
        asked += [(rule, history) for rule in all_rules(CURVES)]
    asked = [(rule, subject) for rule, subject in asked if not is_ignored(rule.code, rules.ignore)]
    found += [finding for rule, subject in asked for finding in rule.check(subject)]
    kept = [_placed(finding, log) for finding in without_explained(found)]
    return Diagnosis(log, history, selected(kept, rules), [*log.notes, *_unjudged(history)])


def _placed(finding: Finding, log: Log) -> Finding:
    where = finding.where
    return finding if where.path else replace(finding, where=replace(where, path=log.name))


def _unjudged(history: History | None) -> list[str]:
    """What could not be judged, so that silence is not taken for health."""
    if history is None:
        return ["no loss that reaches to the end was logged: curves are not judged"]
    if history.is_game:
        return ["adversaries or a policy, by the names: only NaN and infinity are looked for"]
    notes = []
    longest = max(len(curve) for curve in history.curves().values())
    if longest < 6:
        notes.append(f"only {longest} points: too few for most rules")
    missing = {"training loss": history.train, "validation loss": history.validation, "score": history.score}
    names = [name for name, curve in missing.items() if curve is None]
    return notes + ([f"not found: {', '.join(names)}"] if names else [])
