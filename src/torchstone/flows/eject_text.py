"""The text of an ejected script: templates with the blocks that a plan uses, code taken from our own files, imports.

A template is Python with three kinds of marks: `#: if NAME` (or `not NAME`), `#: else`, `#: end` around lines that
only some plans need; `#: source FILE NAME NAME=OTHER …` where definitions of our own files are copied, with what they
use; and `<<NAME>>`, which a value takes the place of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

PACKAGE = Path(str(resources.files("torchstone")))
PIECES = PACKAGE / "flows" / "eject_pieces"
WIDTH = 120  # columns of a line
_BROKEN = re.compile(r"(?m)^(?P<start>(?P<indent> *)\S[^\n]*[(\[])\n(?P=indent)    (?P<inside>\S[^\n]*)\n"
                     r"(?P=indent)(?P<end>[)\]][^\n]*)$")  # fmt: skip
_MARK = re.compile(r"\s*#: (\w+) ?(.*)")
_STANDARD = ("argparse", "bisect", "contextlib", "copy", "csv", "io", "itertools", "json", "math", "os", "random")
_OTHERS = ("cv2", "polars", "simplejpeg", "tokenizers", "torch", "yaml")
_NAMED = {"np": "import numpy as np", "dist": "import torch.distributed as dist"}
_FROM = {
    "collections": ("Counter",), "collections.abc": ("Callable", "Iterator", "Mapping", "Sequence"),
    "dataclasses": ("dataclass", "replace"), "functools": ("partial",), "pathlib": ("Path",),
    "statistics": ("NormalDist",), "typing": ("Any", "Literal"), "PIL": ("Image", "ImageOps"),
    "safetensors.torch": ("save_file",), "torch": ("Tensor", "nn"), "torch.nn": ("functional",),
    "torchvision": ("models",),
}  # fmt: skip
_THIRD = ("PIL", "safetensors.torch", "torch", "torch.nn", "torchvision")


@dataclass
class Copied:
    """The definitions that were copied into a script so far, by name; each is copied once."""

    names: dict[str, str] = field(default_factory=dict)

    def text(self, file: str, names: Mapping[str, str]) -> str:
        """The definitions of these names in `file` (below the package) with what they use, new name by old one."""
        found: list[str] = []
        for name, new in names.items():
            found += self._follow(file, name, new)
        return "\n\n\n".join(found)

    def _follow(self, file: str, name: str, new: str) -> list[str]:
        if name in self.names:
            if self.names[name] != file:
                raise ValueError(f"{name} is in {file} and in {self.names[name]}: a script can hold one of them")
            return []
        self.names[name] = file
        source = (PACKAGE / file).read_text(encoding="utf-8")
        tree = ast.parse(source)
        node = definitions(tree)[name]
        # one line may define several names: each of them is there with it
        self.names |= {each: file for each, line in definitions(tree).items() if line is node}
        text, before = _plain(_lines_of(source, node)), []
        for used in sorted(_names_in(node)):
            place = _origin(tree, file, used)
            if place is not None and used != name:
                renamed = used.lstrip("_")
                before += self._follow(place, used, renamed)
                text = _renamed(text, used, renamed)
        return [*before, _renamed(text, name, new)]


def definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    """The functions, classes and constants of a module by name."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Tuple)):
            target = node.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {each.id: node for each in names if isinstance(each, ast.Name)}
    return found


def _origin(tree: ast.Module, file: str, name: str) -> str | None:
    """The file below the package that a name of a module comes from, None for what is not ours."""
    if name in definitions(tree):
        return file
    for node in tree.body:
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if module and module.startswith("torchstone.") and name in _imported(node):
            place = module.removeprefix("torchstone.").replace(".", "/")
            return f"{place}.py" if (PACKAGE / f"{place}.py").is_file() else f"{place}/__init__.py"
    return None


def _imported(node: ast.stmt) -> set[str]:
    return {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _lines_of(source: str, node: ast.stmt) -> str:
    """A definition with its decorators and the comment lines right above it."""
    lines = source.splitlines()
    decorators = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
    first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(lines[first : node.end_lineno])


def _plain(text: str) -> str:
    """Without remarks that only our own type checker and formatter read."""
    return re.sub(r" *# (type: ignore\[[\w, -]+\]|fmt: skip)", "", text)


def _renamed(text: str, old: str, new: str) -> str:
    return text if old == new else re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, text)


def render(piece: str, flags: Set[str], values: Mapping[str, str], copied: Copied) -> str:
    """A template's text for a plan: the blocks of its flags, the definitions to be copied, its values."""
    text = (PIECES / f"{piece}.txt").read_text(encoding="utf-8")
    kept = _kept(text.splitlines(), flags)
    filled = [re.sub(r"<<(\w+)>>", lambda found: values[found[1]], line) for line in kept]
    return "\n".join(_with_sources(filled, copied)).strip("\n")


def _with_sources(lines: list[str], copied: Copied) -> Iterator[str]:
    for line in lines:
        mark = _MARK.fullmatch(line)
        if mark is None:
            yield line
            continue
        file, *names = mark[2].split()
        pairs = (name.partition("=") for name in names)
        yield copied.text(file, {old: new or old.lstrip("_") for old, _, new in pairs})


def _kept(lines: list[str], flags: Set[str]) -> Iterator[str]:
    open_blocks: list[bool] = []
    for line in lines:
        mark = _MARK.fullmatch(line)
        if mark is None or mark[1] == "source":
            if all(open_blocks):
                yield line
        elif mark[1] == "if":
            open_blocks.append(_holds(mark[2], flags))
        elif mark[1] == "else":
            open_blocks[-1] = not open_blocks[-1]
        elif mark[1] == "end":
            open_blocks.pop()


def _holds(condition: str, flags: Set[str]) -> bool:
    """Whether one of `a or b` holds; `not a` holds where a is no flag."""
    return any(
        (word.removeprefix("not ") in flags) != word.startswith("not ") for word in condition.split(" or ")
    )


def assembled(docstring: str, pieces: list[str]) -> str:
    """The script: its description, the imports that its pieces need, and the pieces, two empty lines apart."""
    body = "\n\n\n".join(piece for piece in pieces if piece)
    body = re.sub(r"\n{4,}", "\n\n\n", body)
    body = _BROKEN.sub(_on_one_line, re.sub(r"(?m)^(\w+(?:, \w+)* = .*)\n\n\n(?=[\w, ]+ = )", r"\1\n", body))
    head = f'"""{docstring}\n"""\n\nfrom __future__ import annotations\n\n'
    return f"{head}{imports(body)}\n{body}\n"


def _on_one_line(found: re.Match[str]) -> str:
    """A call or signature that a template breaks into three lines, as one where that is short enough."""
    start, inside, end = found["start"], found["inside"].rstrip(","), found["end"]
    line = f"{start}{inside}{end}"
    return line if len(line) <= WIDTH and "#" not in line else found[0]


def imports(body: str) -> str:
    """The import lines for the names that a script uses, sorted as ruff and isort sort them."""
    used = {each.id for each in ast.walk(ast.parse(body)) if isinstance(each, ast.Name)}
    sections = []
    for plain, is_third in ((_STANDARD, False), (_OTHERS, True)):
        lines = [f"import {name}" for name in plain if name in used]
        lines += [line for name, line in _NAMED.items() if is_third and name in used]
        taken = {module: [n for n in names if n in used] for module, names in _FROM.items()}
        froms = [
            f"from {module} import {', '.join(names)}" for module, names in sorted(taken.items(), key=_by_module)
            if names and (module in _THIRD) == is_third
        ]  # fmt: skip
        if lines or froms:
            sections.append("\n".join([*sorted(lines), *froms]))
    return "\n\n".join(sections) + "\n"


def _by_module(entry: tuple[str, list[str]]) -> str:
    return entry[0].lower()
