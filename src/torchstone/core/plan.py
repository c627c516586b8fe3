"""A plan: the recipe with everything filled in, each value with its origin, reason and source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from torchstone.core.task import Task

Origin = Literal["user", "default", "derived"]

# What may be said of a number that nobody can know in advance.
START = "starting point, tune on your data"


@dataclass(frozen=True)
class Choice:
    """One value of a plan.

    origin: `user` (the recipe or --set), `derived` (from data or machine), `default` (neither asks for another).
    source: paper, documentation or measurement with its date; START for a number that one tunes; empty where the
        reason says all.
    changes_if: what would make the plan choose otherwise.
    """

    field: str
    value: Any
    origin: Origin
    reason: str
    source: str = ""
    changes_if: str = ""


@dataclass(frozen=True)
class Plan:
    """All choices of a run, by dotted field (`train.batch_size`)."""

    choices: Mapping[str, Choice]

    def __getitem__(self, field: str) -> Any:
        return self.choices[field].value

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices.values())

    def get(self, field: str, default: Any = None) -> Any:
        """The value of a field, or `default` where the plan has none."""
        return self.choices[field].value if field in self.choices else default

    def section(self, prefix: str) -> dict[str, Any]:
        """The fields below a prefix: `section("model.options")` → {"depth": 2}."""
        start = prefix + "."
        return {f.removeprefix(start): c.value for f, c in self.choices.items() if f.startswith(start)}

    def to_rows(self) -> list[dict[str, Any]]:
        """One mapping per choice, as plan.yaml holds them."""
        return [{k: v for k, v in asdict(choice).items() if v != ""} for choice in self]

    @staticmethod
    def from_rows(rows: list[dict[str, Any]]) -> Plan:
        """The inverse of `to_rows`."""
        return Plan({row["field"]: Choice(**row) for row in rows})


@dataclass(frozen=True)
class Planning:
    """A plan beside what it was made for: what the rules of `rules/recipe` judge.

    facts: counts, balance and machine as the choices saw them (`flows.facts`, `engines.pytorch.machine`).
    """

    plan: Plan
    task: Task
    facts: Mapping[str, Any]
