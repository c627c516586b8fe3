"""Which rules are asked of a run of ours, and about what: written before it begins, so that silence can be read."""

from __future__ import annotations

from torchstone.core.catalog import all_rules
from torchstone.core.recipe import Rules
from torchstone.flows.judge import is_ignored
from torchstone.flows.own_doctor import AHEAD, ASKED
from torchstone.flows.preflight_gate import OF_THE_LOOP
from torchstone.flows.watch import FOLDERS

# Subject → the folder of its rules; what the trace and its curves are asked, a review asks itself.
AT_PLANNING = {
    "the files": "torchstone.rules.reading", "the dataset": "torchstone.rules.dataset",
    "the plan": "torchstone.rules.recipe",
}  # fmt: skip


def asked_rules(rules: Rules, *, has_preflight: bool) -> dict[str, list[str]]:
    """Subject → the codes that are asked about it, without those that the recipe ignores.

    has_preflight: whether the first batch is looked at before the first step.
    """
    asked = {subject: [rule.code for rule in all_rules(folder)] for subject, folder in AT_PLANNING.items()}
    if has_preflight:
        asked["the first batch"] = [rule.code for rule in all_rules(AHEAD) if rule.code not in OF_THE_LOOP]
    watched = [rule.code for folder in FOLDERS for rule in all_rules(folder)]
    asked["the run as it went on"] = [code for code in watched if code in ASKED]
    return {subject: [code for code in codes if not is_ignored(code, rules.ignore)] for subject, codes in asked.items()}
