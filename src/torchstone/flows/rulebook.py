"""Every rule of every subject, for `rules` and `explain`."""

from __future__ import annotations

import difflib

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.rule import Rule


def every_rule() -> list[Rule]:
    """All rules of all folders below torchstone.rules, by code."""
    folders = [f"torchstone.rules.{name}" for name in catalog.names("torchstone.rules")]
    return sorted((rule for folder in folders for rule in catalog.all_rules(folder)), key=lambda rule: rule.code)


def the_rule(code: str) -> Rule:
    """The rule of a code or name, in any case of letters; raises StoneError with the nearest where there is none."""
    rules = every_rule()
    for rule in rules:
        if code.lower() in (rule.code.lower(), rule.name.lower()):
            return rule
    words = {word: rule.code for rule in rules for word in (rule.code, rule.name)}
    near = difflib.get_close_matches(code.upper(), words, n=1) or difflib.get_close_matches(code.lower(), words, n=1)
    fix = f"did you mean {words[near[0]]}?" if near else "list them with: torchstone rules"
    raise StoneError(f"no rule is called '{code}'", fix=fix)


def page(rule: Rule) -> dict[str, str]:
    """What there is to say about a rule, in the order in which one asks."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "stage": rule.stage,
        "what": rule.summary,
        "why": rule.why,
        "fix": rule.fix,
        "threshold": rule.threshold,
        "wrong_when": rule.wrong_when,
        "source": rule.source,
    }
