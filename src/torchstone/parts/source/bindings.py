"""Which top-level statements of a file bind which name: one name is then made without playing all the file."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator

BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def bindings_of(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """The statements of a body by the names that they bind or change, in order."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        for name in dict.fromkeys(bound_by(node)):
            found.setdefault(name, []).append(node)
    return found


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds or changes (`name.field = …` changes it), also within its blocks."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
            return
        case ast.Import() | ast.ImportFrom():
            yield from (_bound(alias) for alias in node.names if alias.name != "*")
            return
        case ast.Assign():
            yield from _roots(node.targets)
        case ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.AsyncFor():
            yield from _roots([node.target])
        case ast.With() | ast.AsyncWith():
            yield from _roots(item.optional_vars for item in node.items if item.optional_vars is not None)
    for block in BLOCKS:
        for inner in getattr(node, block, ()):
            yield from bound_by(inner)


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _roots(targets: Iterable[ast.expr]) -> Iterator[str]:
    """The names at the root of assignment targets."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from _roots(target.elts)
            continue
        one: ast.expr = target
        while isinstance(one, (ast.Attribute, ast.Subscript, ast.Starred)):
            one = one.value
        if isinstance(one, ast.Name):
            yield one.id


def only(node: ast.stmt, name: str) -> ast.stmt:
    """A statement without what binds other names than this one: of imports and branches the part that matters."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        made = copy.copy(node)
        made.names = [alias for alias in node.names if _bound(alias) == name]
        return made
    if isinstance(node, (ast.If, ast.Try)):
        branch = copy.copy(node)
        branch.body = _only_in(node.body, name) or [ast.Pass()]
        branch.orelse = _only_in(node.orelse, name)
        if isinstance(branch, ast.Try) and isinstance(node, ast.Try):
            branch.finalbody = _only_in(node.finalbody, name)
            branch.handlers = [_handler(one, name) for one in node.handlers]
        return branch
    return node


def _handler(node: ast.ExceptHandler, name: str) -> ast.ExceptHandler:
    made = copy.copy(node)
    made.body = _only_in(node.body, name) or [ast.Pass()]
    return made


def _only_in(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    return [only(node, name) for node in body if name in bound_by(node)]
