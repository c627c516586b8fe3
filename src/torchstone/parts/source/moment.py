"""Something that foreign code does when it runs, and within what."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeVar

from torchstone.parts.source.definition import Definition
from torchstone.parts.source.value import Value

Found = TypeVar("Found")


@dataclass(eq=False, slots=True)
class Loop:
    """A loop that was entered: over what (None for `while`); a comprehension is one too."""

    node: ast.AST
    over: Value | None
    is_comprehension: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """An arm of a branch: its statement, which arm (0 = where the test is true), and the test's value."""

    node: ast.AST
    arm: int
    test: Value | None


@dataclass(eq=False, slots=True)
class Moment:
    """A call, or an assignment to an attribute or item.

    what: "call" with `value` the call; "assign" with `target` (an attr or item) and the `value` assigned;
        "add" for `target += value` (any augmented operator is in `operator`) and for `target = target + value`,
        where target is what it was before.
    loops, withs, guards, functions: what it happens within, outermost first, through followed calls.
        withs are the values of `with` items and of decorators of followed functions.
    index: its place in the play's order. path, line: where the code stands.
    """

    what: Literal["call", "assign", "add"]
    value: Value
    path: str
    line: int
    index: int
    loops: tuple[Loop, ...]
    withs: tuple[Value, ...]
    guards: tuple[Guard, ...]
    functions: tuple[Definition, ...]
    target: Value | None = None
    operator: str = ""

    def is_call(self, *names: str) -> bool:
        """Whether it is a call of one of these dotted names or (".step") methods."""
        return self.what == "call" and self.value.is_call(*names)


@dataclass(eq=False, slots=True)
class Play:
    """What one way into the code does, in order: a file run as a script, or a function whose caller is not known.

    entry: None for the file itself. is_cut: whether it was too long to be followed to its end.
    """

    entry: Definition | None
    moments: list[Moment] = field(default_factory=list)
    is_cut: bool = False
    known: dict[Any, Any] = field(default_factory=dict)

    def calls(self, *names: str) -> list[Moment]:
        """The calls of these dotted names or (".step") methods, in order; all calls where none is named."""
        if not names:
            return [moment for moment in self.moments if moment.what == "call"]
        by_name: dict[str, list[Moment]] = self.answers()["calls"]
        if len(names) == 1:
            return list(by_name.get(names[0], ()))
        found = [moment for name in dict.fromkeys(names) for moment in by_name.get(name, ())]
        return sorted(found, key=lambda moment: moment.index)

    def answers(self) -> dict[Any, Any]:
        """What was asked of the play before; forgotten once something more has happened in it."""
        if self.known.get("length") != len(self.moments):
            self.known = {"length": len(self.moments), "calls": self._calls_by_name()}
        return self.known

    def _calls_by_name(self) -> dict[str, list[Moment]]:
        found: dict[str, list[Moment]] = {}
        for moment in self.moments:
            value = moment.value
            if moment.what == "call" and value.kind == "call":
                found.setdefault(f".{value.name}" if value.receiver is not None else value.name, []).append(moment)
        return found

    def inside(self, loop: Loop) -> list[Moment]:
        """What happens within a loop, in order."""
        return [moment for moment in self.moments if loop in moment.loops]

    def loops(self) -> list[Loop]:
        """Every loop in which something happens, in order of entry."""
        return list(dict.fromkeys(loop for moment in self.moments for loop in moment.loops))


def once(ask: Callable[[Play], list[Found]]) -> Callable[[Play], list[Found]]:
    """A question about a whole play that is answered once for each play; every caller gets a list of its own."""

    @wraps(ask)
    def answer(play: Play) -> list[Found]:
        known = play.answers()
        if ask not in known:
            known[ask] = ask(play)
        return list(known[ask])

    return answer


def exclude_each_other(one: Moment, other: Moment) -> bool:
    """Whether two moments stand in different arms of one branch: not both happen in one pass."""
    arms = {id(guard.node): guard.arm for guard in one.guards}
    return any(arms.get(id(guard.node), guard.arm) != guard.arm for guard in other.guards)
