"""A row of a table of choices: under which condition what is chosen, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]


def no_options(facts: Facts) -> dict[str, Any]:
    """For a case that leaves every option to the part's default or to the modality's plan."""
    return {}


@dataclass(frozen=True)
class Case:
    """One condition and what follows from it.

    kind: what is learnt from, or the family of the model; condition: the rest in words. holds: facts → whether both
    are so. choice: the name of a part. options: facts → the part's options, by name; options_say: them in words.
    source: with its year. changes_if: what would ask for another choice.
    """

    kind: str
    condition: str
    holds: Callable[[Facts], bool]
    choice: str
    reason: str
    source: str
    options_say: str = ""
    options: Callable[[Facts], dict[str, Any]] = no_options
    changes_if: str = ""


def first_that_holds(cases: Sequence[Case], facts: Facts) -> Case | None:
    """The first case whose condition holds; None where none does. Earlier rows are the narrower ones."""
    return next((case for case in cases if case.holds(facts)), None)
