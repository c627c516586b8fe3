"""What an expression of foreign code stands for, as far as reading tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torchstone.parts.source.definition import Definition

Kind = Literal[
    "call", "const", "name", "param", "attr", "item", "op", "sequence", "mapping", "either", "each", "function",
    "class", "unknown",
]  # fmt: skip
# Methods and functions that hand on the same numbers in another shape, type or place.
HANDS_ON = frozenset({
    "to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "clone", "view", "reshape", "squeeze",
    "unsqueeze", "flatten", "type", "permute", "transpose", "expand", "view_as", "reshape_as", "requires_grad_",
    "torch.squeeze", "torch.unsqueeze", "torch.flatten", "torch.reshape", "torch.transpose", "torch.permute",
})  # fmt: skip


@dataclass(eq=False, slots=True)
class Value:
    """One value: where it came from. Two are the same thing only if they are the same object.

    kind and what goes with it:
        call: `name` is the dotted name of what was called ("torch.optim.Adam", "my_file.Net"), or with `receiver` the
            method ("step"; "__call__" where the receiver itself is called); `args`, `keywords`; `definition` of a class
            of the project; `result` is what the called function of the project gave, where it could be followed.
        const: `const`. name: a dotted name that was not called ("torch.float16"). param: `name`, of a function whose
            caller is not known. attr: `receiver`.`name`. item: `receiver`[`args`[0]]. op: `name` of the operator
            ("Add", "Lt", "Not"), `args`. sequence, mapping: `args` (values of a mapping; its keys in `keys`).
            either: one of `args`, by branch. each: an element of `receiver`, in a loop over it.
            function, class: `definition`.
    fields: what was assigned to its attributes. alias: the first variable that it was bound to.
    node, path: the expression and its file.
    """

    kind: Kind
    node: ast.AST | None = None
    path: str = ""
    name: str = ""
    receiver: Value | None = None
    args: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    keys: list[Value | None] = field(default_factory=list)
    fields: dict[str, Value] = field(default_factory=dict)
    const: Any = None
    result: Value | None = None
    definition: Definition | None = None
    alias: str = ""

    @property
    def line(self) -> int:
        """Its line, from 1; 0 where it has none."""
        return getattr(self.node, "lineno", 0)

    def given(self, keyword: str, position: int | None = None) -> Value | None:
        """The argument of a call by keyword, or at a position; None where neither is given (or a * hides it)."""
        if keyword in self.keywords:
            return self.keywords[keyword]
        if position is not None and position < len(self.args):
            return self.args[position]
        return None

    def is_call(self, *names: str) -> bool:
        """Whether it is a call of one of these dotted names, or of a method so called (".step")."""
        if self.kind != "call":
            return False
        return (f".{self.name}" if self.receiver is not None else self.name) in names

    def is_const(self, *values: Any) -> bool:
        """Whether it is one of these constants (told apart by type: 1 is not True)."""
        return self.kind == "const" and any(self.const == one and type(self.const) is type(one) for one in values)

    def element(self, index: Value) -> Value | None:
        """The element of a written-out sequence at a constant index; None where that is not known."""
        if self.kind != "sequence" or self.name == "comprehension" or not isinstance(index.const, int):
            return None
        return self.args[index.const] if -len(self.args) <= index.const < len(self.args) else None

    def __repr__(self) -> str:
        inner = f"{self.receiver!r}." if self.receiver is not None else ""
        shown = repr(self.const) if self.kind == "const" else self.name
        return f"<{self.kind} {inner}{shown} l{self.line}>"


def alternatives(value: Value | None) -> list[Value]:
    """The value itself, or each that a branch may have made of it."""
    found: list[Value] = []
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if one.kind == "either":
            todo.extend(reversed(one.args))
        else:
            found.append(one)
    return found


def peel(value: Value | None) -> list[Value]:
    """What the numbers of a value are, without changes of shape, type and place: one for each branch.

    Looks through models' and functions' results of the project, through nn.Sequential to its last layer's call,
    and through `HANDS_ON`.
    """
    return seen_through(alternatives(value), lambda one: alternatives(handed_on(one)))


def seen_through(values: Iterable[Value], behind: Callable[[Value], Sequence[Value]]) -> list[Value]:
    """Each value, or in its place what stands behind it, and behind that, as far as there is something; each once."""
    found: list[Value] = []
    todo, seen = list(values), set()
    while todo:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        inner = behind(one)
        if inner:
            todo = [*inner, *todo]
        else:
            found.append(one)
    return found


def handed_on(value: Value) -> Value | None:
    """The value whose numbers `value` only hands on; None where it is made here."""
    if value.kind == "call":
        if value.result is not None:
            return value.result
        if value.receiver is not None and value.name in HANDS_ON:
            return value.receiver
        if value.name in HANDS_ON and value.args:
            return value.args[0]
    if value.kind == "item" and value.receiver is not None and value.receiver.kind != "each":
        return _item_of(value)
    return None


def _item_of(value: Value) -> Value | None:
    """An item of a sequence that was seen being made."""
    assert value.receiver is not None
    made = peel(value.receiver)
    return made[0].element(value.args[0]) if len(made) == 1 and value.args else None


def origins(value: Value | None, follow: Callable[[Value], bool] = lambda value: True) -> Iterator[Value]:
    """The value and all that it was computed from, each once, nearest first; `follow` says where to go on."""
    todo, seen = alternatives(value), set()
    while todo:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if follow(one):
            inner = [one.result] if one.result is not None else []
            inner += [one.receiver] if one.receiver is not None else []
            inner += [*one.args, *one.keywords.values()]
            for each in inner:
                todo.extend(alternatives(each))
