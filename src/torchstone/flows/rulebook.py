"""Every rule of every subject, for `rules` and `explain`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchstone.core import catalog
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.rule import Rule

if TYPE_CHECKING:
    from torchstone.core.recipe import Rules


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


def check_codes(rules: Rules, where: Callable[[str], str]) -> Rules:
    """The same, where every code and family that it names is there; else raises StoneError, or StoneErrors for several.

    where: what errors call `rules.ignore` and `rules.severity`.
    """
    if not rules.ignore and not rules.severity:
        return rules
    codes = {rule.code for rule in every_rule()}
    families = {code.rstrip("0123456789") for code in codes}
    named = [("rules.ignore", code, codes | families) for code in rules.ignore]
    named += [("rules.severity", code, codes) for code in rules.severity]
    errors = []
    for field, code, known in named:
        if code not in known:
            near = difflib.get_close_matches(code.upper(), known, n=1)
            fix = f"did you mean {near[0]}?" if near else "give codes or families (RUN, DAT) of: torchstone rules"
            errors.append(StoneError(f"no rule has the code '{code}'", where=where(field), fix=fix))
    if errors:
        raise errors[0] if len(errors) == 1 else StoneErrors(errors)
    return rules


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
