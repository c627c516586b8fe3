"""The state of one play: what has happened, within what, and what it may still cost."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from torchstone.parts.source.bindings import only
from torchstone.parts.source.definition import Definition, Frame
from torchstone.parts.source.module import Module, absolute
from torchstone.parts.source.moment import Guard, Loop, Moment, Play
from torchstone.parts.source.project import Project
from torchstone.parts.source.value import Value, alternatives

# How deep calls are followed, how often one function, and how many nodes a play may visit in all.
MAX_DEPTH = 10
MAX_FOLLOWED = 24
MAX_VISITS = 12_000
# How many nodes all plays of a file may visit together, and how deep names of other files are made for one another.
MAX_STEPS = 20_000
# The same for a file in which no word of training stands: models, configurations, things that only others use.
MAX_STEPS_ASIDE = 3_000
MAX_LOADS = 24
# How many things one value may be by branch; one that nobody knows stands for the rest.
MAX_EITHER = 16


class TooLong(Exception):
    """The play has visited as many nodes as it may."""


@dataclass(eq=False)
class Budget:
    """What all plays of a file together may still cost, in visited nodes; depth: of names made for one another."""

    left: int = MAX_STEPS
    depth: int = 0


@dataclass(eq=False)
class Stage:
    """One play going on.

    run: runs statements in a frame, says whether they end the body (return, raise, break, continue).
    evaluate: the value of an expression in a frame.
    """

    project: Project
    play: Play
    run: Callable[[Stage, list[ast.stmt], Frame], bool]
    evaluate: Callable[[Stage, ast.expr, Frame], Value]
    globals: dict[str, Frame] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)
    loops: tuple[Loop, ...] = ()
    withs: tuple[Value, ...] = ()
    guards: tuple[Guard, ...] = ()
    functions: tuple[Definition, ...] = ()
    followed: dict[int, int] = field(default_factory=dict)
    visits: int = 0
    is_quiet: bool = False

    def visit(self) -> None:
        """Count a node; raises TooLong at the limit."""
        self.visits += 1
        self.budget.left -= 1
        if self.visits > MAX_VISITS or self.budget.left < 0:
            raise TooLong

    def run_all(self, body: list[ast.stmt], frame: Frame) -> None:
        """Run statements; what is too long by itself is left off, what the file cannot pay any more raises TooLong."""
        try:
            self.run(self, body, frame)
        except TooLong:
            if self.budget.left < 0:
                raise

    def starred(self, node: ast.ImportFrom, frame: Frame, name: str) -> Value | None:
        """What a `from … import *` in a frame gives for a name; None where it is not of the project or has none."""
        base = absolute(node, frame.module.name, frame.module.path)
        module = self.project.module(base, frame.module) if base else None
        return self.globals_of(module).own(name) if module is not None and module is not frame.module else None

    def record(
        self, what: Literal["call", "assign", "add"], value: Value, node: ast.AST, frame: Frame,
        target: Value | None = None,
    ) -> None:  # fmt: skip
        """Note a moment of the play (nothing while only a module's globals are wanted)."""
        if self.is_quiet:
            return
        operator = type(node.op).__name__ if isinstance(node, ast.AugAssign) else "Add" if what == "add" else ""
        self.play.moments.append(Moment(
            what, value, frame.module.path, getattr(node, "lineno", 0), len(self.play.moments), self.loops, self.withs,
            self.guards, self.functions, target, operator,
        ))  # fmt: skip

    @contextmanager
    def within(
        self, *, loop: Loop | None = None, withs: Iterable[Value] = (), guard: Guard | None = None,
        function: Definition | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """What is recorded inside happens within these, too."""
        before = self.loops, self.withs, self.guards, self.functions
        self.loops += (loop,) if loop is not None else ()
        self.withs += tuple(withs)
        self.guards += (guard,) if guard is not None else ()
        self.functions += (function,) if function is not None else ()
        try:
            yield
        finally:
            self.loops, self.withs, self.guards, self.functions = before

    def globals_of(self, module: Module) -> Frame:
        """The names of another module's top level, each made in silence when it is first asked for."""
        if module.name not in self.globals:
            frame = self.globals[module.name] = Frame(module)
            frame.load = Loader(self, frame).load
        return self.globals[module.name]

    def may_follow(self, definition: Definition) -> bool:
        """Whether a call is still followed: not too deep, no recursion, not too often."""
        if len(self.functions) >= MAX_DEPTH or any(one.node is definition.node for one in self.functions):
            return False
        count = self.followed.get(id(definition.node), 0)
        self.followed[id(definition.node)] = count + 1
        return count < MAX_FOLLOWED


@dataclass(eq=False)
class Loader:
    """Makes the names of another module's top level: plays in silence the statements that bind one."""

    asker: Stage
    frame: Frame
    going_on: set[str] = field(default_factory=set)

    def load(self, name: str) -> Value | None:
        """The value of a name; None where nothing binds it, or while it is just being made."""
        module = self.frame.module
        if name in self.going_on or self.asker.budget.depth >= MAX_LOADS:
            return None
        self.going_on.add(name)
        self.asker.budget.depth += 1
        try:
            for node in module.bindings.get(name, ()):
                self._stage().run_all([only(node, name)], self.frame)
            if name not in self.frame.values:  # a branch puts another dict in its place
                self._from_stars(name)
        finally:
            self.going_on.discard(name)
            self.asker.budget.depth -= 1
        return self.frame.values.get(name)

    def _stage(self) -> Stage:
        asker = self.asker
        return Stage(asker.project, Play(None), asker.run, asker.evaluate, asker.globals, asker.reached, asker.budget,
                     is_quiet=True)

    def _from_stars(self, name: str) -> None:
        if name.startswith("_"):
            return
        for node in self.frame.module.stars:
            value = self.asker.starred(node, self.frame, name)
            if value is not None:
                self.frame.values[name] = value
                return


def either(values: Iterable[Value | None], path: str) -> Value:
    """One value that is any of these; the value itself where there is only one."""
    flat: list[Value] = []
    for value in values:
        flat += [one for one in alternatives(value) if not any(one is other for other in flat)]
    if len(flat) > MAX_EITHER:
        flat = [*flat[: MAX_EITHER - 1], Value("unknown", flat[0].node, path, "more")]
    return flat[0] if len(flat) == 1 else Value("either", path=path, args=flat)
