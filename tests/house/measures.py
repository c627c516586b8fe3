"""What the house tests measure: files, functions, parameters and docstrings of src, from the syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "torchstone"


@dataclass(frozen=True)
class Function:
    """A function or method: where it is, its length in lines and the number of its parameters without self."""

    name: str
    place: str
    lines: int
    parameters: int
    keyword_only: int
    is_public: bool
    is_method: bool
    has_docstring: bool


def python_files(folder: Path) -> list[Path]:
    """All Python files below a folder, in order."""
    return sorted(folder.rglob("*.py"))


def num_lines(path: Path) -> int:
    """Lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[Function]:
    """Every function and method of a file that is not inside another function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _of(tree.body, path, "", False)


def _of(body: list[ast.stmt], path: Path, owner: str, is_private: bool) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _of(node.body, path, f"{owner}{node.name}.", is_private or node.name.startswith("_"))
        if isinstance(node, ast.FunctionDef):
            given = node.args
            skip = 1 if owner and not any(_is(d, "staticmethod") for d in node.decorator_list) else 0
            yield Function(
                name=owner + node.name,
                place=f"{path.relative_to(REPOSITORY)}:{node.lineno}",
                lines=(node.end_lineno or node.lineno) - node.lineno + 1,
                parameters=len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - skip,
                keyword_only=len(given.kwonlyargs),
                is_public=not is_private and not node.name.startswith("_"),
                is_method=bool(owner),
                has_docstring=ast.get_docstring(node) is not None,
            )


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def classes_without_docstring(path: Path) -> list[str]:
    """Public classes of a file that say nothing about themselves."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and ast.get_docstring(node) is None
    ]


def share(values: list[int], part: float) -> int:
    """The value that `part` of all values do not exceed."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)]
