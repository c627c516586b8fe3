"""What an ejected script is made of: the blocks and values of its templates, its settings, and what was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.flows.eject_text import Copied, assembled, render

# What says how a run was watched, kept and fed, and changes no weight; and the data's own fields, which are read from
# the dataset itself.
WITHOUT_WEIGHT = frozenset([
    "task", "checkpoint.every_steps", "checkpoint.every_minutes", "checkpoint.keep", "train.workers",
    "train.sample_every", "train.rank_timeout_minutes", "image.cache_gib", "data.path", "data.label", "data.features",
    "data.text", "data.image", "data.split", "data.split_column", "data.label_separator", "data.layout",
    "data.columns",
])  # fmt: skip
_NOTHING: tuple[Any, ...] = (None, False, 0, [], {}, "")


@dataclass
class Script:
    """A script in the making.

    flags: blocks of the templates that it has. values: what takes the place of `<<name>>`. settings: what its YAML
    file holds, section by section. seen: the fields of the plan that were looked at; the others are refused.
    """

    plan: Plan
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def take(self, name: str) -> Any:
        """The value of a field, which is looked at with this."""
        self.seen.add(name)
        return self.plan.get(name)

    def options(self, piece: str) -> dict[str, Any]:
        """The options of a part, which are looked at with this."""
        found = self.plan.section(f"{piece}.options")
        self.seen |= {f"{piece}.options.{name}" for name in found}
        return found

    def part(self, piece: str, known: Sequence[str]) -> str | None:
        """The name of a part; raises StoneError where it is none of `known`, which a script can have."""
        name = self.take(f"{piece}.name")
        if name is not None and name not in known:
            raise cannot(f"{piece}.name", name, f"of this piece it knows {', '.join(known) or 'none'}")
        return None if name is None else str(name)

    def refuse_rest(self) -> None:
        """Raises StoneError for a field that asks for something and was not looked at: nothing is lost in silence."""
        for choice in self.plan:
            name = choice.field
            if name in self.seen or name in WITHOUT_WEIGHT or name.startswith("data.kinds"):
                continue
            if not any(choice.value == nothing for nothing in _NOTHING):
                raise cannot(name, choice.value, "it is not among what docs/eject.md lists")

    def text(self, docstring: str, pieces: Sequence[str]) -> str:
        """The script's text from these templates, in their order."""
        copied = Copied()
        return assembled(docstring, [render(piece, self.flags, self.values, copied) for piece in pieces])


def cannot(name: str, value: Any, reason: str) -> StoneError:
    """The error for what a plain script cannot have yet."""
    return StoneError(
        f"this cannot be ejected yet: {value!r}; {reason}", where=name,
        fix="train a run without it, or keep this one with torchstone",
    )  # fmt: skip
