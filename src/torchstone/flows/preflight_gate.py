"""The preflight as a part of `train`: short, on the very job that is about to train, and able to stop it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.finding import SEVERITIES, Finding, has_errors
from torchstone.core.recipe import Rules
from torchstone.core.run import Run
from torchstone.flows.contact_sheet import write_sheet
from torchstone.flows.judge import is_ignored, judge
from torchstone.flows.plan import Planned
from torchstone.flows.preflight_lines import first_loss_line

FOLDER = "torchstone.rules.preflight"
# What the loop itself finds at its first step, and with more to show for it: the examples, and the batch to replay.
OF_THE_LOOP = ("RUN702",)


@dataclass(frozen=True)
class Ahead:
    """What a run is told before its first step; is_blocked: it must not take it."""

    line: str
    findings: list[Finding]
    is_blocked: bool


class Gate:
    """Looks at the job of a run before it trains, and shows its first batch in the run's folder.

    findings: what was found, once it has looked. Every rank has one, and all of them find the same.
    """

    def __init__(self, run: Run, planned: Planned) -> None:
        self._run, self._planned = run, planned
        self.findings: list[Finding] = []

    def __call__(self, setting: Any, job: Any) -> Ahead:
        """Sends the first batch through the job, which stays as it is; an `engines.pytorch.preflight.ahead.Ahead`."""
        engine = importlib.import_module("torchstone.engines.pytorch.preflight.own")
        rows, batch = engine.look_ahead(setting, job, seconds=0)
        every = engine.rows_of_ranks(job, rows)
        if job.strategy.rank == 0:
            write_sheet(self._run.folder, batch, setting.dataset)
        found = judge_ranks(every, self._planned.recipe.rules)
        self.findings = [finding for finding in found if finding.code not in OF_THE_LOOP]
        line = first_loss_line(every[0], self.findings)
        return Ahead(line, self.findings, has_errors(self.findings))


def judge_ranks(every: Sequence[Sequence[Mapping[str, Any]]], rules: Rules) -> list[Finding]:
    """What the rows of all ranks show: each rule's findings on the first rank that has any, which is named.

    The same on every rank, so that all of them go on or none does.
    """
    found: dict[str, list[Finding]] = {}
    for rank, rows in enumerate(every):
        mine = judge(rows, FOLDER, rules)
        if rank:
            mine = [replace(finding, what=f"on rank {rank}: {finding.what}") for finding in mine]
        for code in {finding.code for finding in mine} - found.keys():
            found[code] = [finding for finding in mine if finding.code == code]
    told = [finding for findings in found.values() for finding in findings]
    return sorted(told, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))


def gate_of(run: Run, planned: Planned) -> Gate | None:
    """The gate of a new run; None where the recipe ignores all of its rules."""
    ignore = planned.recipe.rules.ignore
    return Gate(run, planned) if any(not is_ignored(rule.code, ignore) for rule in all_rules(FOLDER)) else None
