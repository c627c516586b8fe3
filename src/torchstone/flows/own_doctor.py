"""The doctor of our own runs: which rules it asks while a run goes on, and what stands of it in the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from torchstone.core.catalog import all_rules
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.flows.ask_curves import CURVES, asked_curves, history_of_trace, judge_curves
from torchstone.flows.judge import explained, is_ignored, judge, selected
from torchstone.flows.watch import FOLDERS, Doctor

TRACE, AHEAD = "torchstone.rules.trace", "torchstone.rules.preflight"
# The rules for other people's loops that have something to see in ours. What our loop cannot do wrong is not asked,
# nor what a rule of rules/trace asks of the ledger: RUN601, RUN605 and RUN608 are RUN201, RUN204 and RUN203 there.
ASKED = (
    "RUN306", "RUN311", "RUN324", "RUN342", "RUN401", "RUN408", "RUN501", "RUN502", "RUN503", "RUN602", "RUN603",
    "RUN604", "RUN606", "RUN607", "RUN609",
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
    "RUN607": "Look at its examples and labels; set sampler to class_balanced, or weigh the classes of the loss.",
}  # fmt: skip
_FIELDS = frozenset(one.name for one in fields(Finding))


def doctor_of_a_run(rules: Rules) -> Callable[[Callable[[Finding], None]], Doctor] | None:
    """What makes the doctor of a run, which tells findings to a function; None where all of its rules are ignored.

    `rules.ignore` and `rules.severity` of the recipe are obeyed.
    """
    asked = [rule for folder in FOLDERS for rule in all_rules(folder)
             if rule.code in ASKED and not is_ignored(rule.code, rules.ignore)]  # fmt: skip
    if not asked:
        return None
    return lambda hear: Doctor(rules=rules, asked=asked, callback=lambda finding: hear(in_our_words(finding)))


def in_our_words(finding: Finding) -> Finding:
    """The finding with a mend that a recipe can take."""
    return replace(finding, fix=MENDS.get(finding.code, finding.fix))


def judge_trace(trace: Sequence[Mapping[str, Any]], rules: Rules, *, has_curves: bool = True) -> list[Finding]:
    """All that is found in a run: what its doctor has told, what the whole trace shows, and with `has_curves` what its
    curves do; one finding per cause.
    """
    told: dict[tuple[str, str], Finding] = {}
    for row in trace:
        if row.get("event") == "finding" and "code" in row:
            finding = Finding.from_json({key: value for key, value in row.items() if key in _FIELDS})
            told.setdefault((finding.code, f"{finding.where.layer} {finding.where.field}"), finding)
    found = [*judge(trace, TRACE, rules), *told.values()]
    if has_curves:
        shown = judge_curves(history_of_trace(trace), asked_curves(rules))
        found += selected([in_our_words(finding) for finding in shown], rules)
    return without_explained(found)


def without_explained(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those that have the same cause as another one, by what the rules say that they explain."""
    findings = list(findings)
    rules = [rule for folder in (TRACE, *FOLDERS, AHEAD, CURVES) for rule in all_rules(folder)]
    gone = explained({finding.code for finding in findings}, rules)
    return [finding for finding in findings if finding.code not in gone]
