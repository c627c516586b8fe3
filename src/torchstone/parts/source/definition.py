"""Functions and classes of the project that is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchstone.parts.source.value import Value

if TYPE_CHECKING:
    from torchstone.parts.source.module import Module

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False, slots=True)
class Frame:
    """The names of a scope; `outer` is the scope around it (for a method: that of the class's surroundings).

    load: makes a name that is not in `values` yet (of another file's top level, of an import), or gives None.
    promised: names that an import binds, made when they are wanted.
    """

    module: Module
    outer: Frame | None = None
    values: dict[str, Value] = field(default_factory=dict)
    returned: list[Value] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    load: Callable[[str], Value | None] | None = None
    promised: dict[str, Callable[[], Value]] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """The value of a name here or in a scope around; None where it is not bound."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.own(name)
            if value is not None:
                return value
            frame = frame.outer
        return None

    def own(self, name: str) -> Value | None:
        """The value of a name of this very scope, made now where it waits to be; None where it is not bound."""
        if name in self.values:
            return self.values[name]
        promise = self.promised.get(name)
        if promise is not None:
            value = promise()
            self.promised[name] = lambda: value  # kept: an arm that ends takes its `values` with it
            self.values[name] = value
            return value
        return self.load(name) if self.load is not None else None


@dataclass(eq=False, slots=True)
class Definition:
    """A function or class of the project, with the scope that it was written in.

    bases: for a class, its base classes, as values (classes of the project, or dotted names).
    decorators: as values, outermost first. owner: the class of a method.
    """

    node: Function | ast.ClassDef
    module: Module
    frame: Frame
    name: str
    bases: list[Value] = field(default_factory=list)
    decorators: list[Value] = field(default_factory=list)
    methods: dict[str, Definition] = field(default_factory=dict)
    fields: dict[str, Value] = field(default_factory=dict)
    owner: Definition | None = None

    def ancestors(self) -> Iterator[Definition]:
        """The class and its bases in the project, each once, in the order of attribute look-up (near enough)."""
        todo, seen = [self], set()
        while todo:
            one = todo.pop(0)
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            todo = [base.definition for base in one.bases if base.definition is not None] + todo

    def base_names(self) -> set[str]:
        """The dotted names of all bases outside the project ("torch.nn.Module")."""
        return {base.name for one in self.ancestors() for base in one.bases if base.definition is None}

    def method(self, name: str, *, after: Definition | None = None) -> Definition | None:
        """A method by name, own or inherited within the project; `after`: as super() of that class looks it up."""
        classes = list(self.ancestors())
        if after in classes:
            classes = classes[classes.index(after) + 1:]
        return next((one.methods[name] for one in classes if name in one.methods), None)
