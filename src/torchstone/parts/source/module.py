"""One file of foreign code: its syntax tree, its lines, and what it says to torchstone in comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from torchstone.parts.source.bindings import bindings_of
from torchstone.parts.source.notebook import Cell, code_of

# Files above this many bytes are not read: generated code, data in Python's clothes.
MAX_BYTES = 2_000_000
# # torchstone: ignore[COD104, COD2] because …
IGNORE = re.compile(r"#\s*torchstone:\s*ignore\s*(?:\[([^\]]*)\])?\s*(?:because\s+(.*))?", re.IGNORECASE)


class UnreadableSource(Exception):
    """The text is no Python that can be read: the reason, and its line (from 1, or 0)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


@dataclass(frozen=True)
class Ignored:
    """A comment that silences findings of a line: codes (empty: all), and the reason given."""

    line: int
    codes: tuple[str, ...]
    reason: str


@dataclass(eq=False)
class Module:
    """A file as read. name: its dotted name below the folder that was given; cells: of a notebook.

    unreadable: why the text could not be read, and the line (0: none); the tree is empty then.
    """

    path: str
    name: str
    text: str
    tree: ast.Module
    cells: tuple[Cell, ...] = field(default=())
    unreadable: tuple[str, int] | None = None

    @cached_property
    def lines(self) -> list[str]:
        """The text by lines; line n is at n - 1."""
        return self.text.split("\n")

    @cached_property
    def imported(self) -> set[str]:
        """Every module and name that is imported anywhere in the file, dotted ("torch", "torch.nn", "model.Net")."""
        names: set[str] = set()
        for node in self._imports:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            else:
                base = absolute(node, self.name, self.path)
                names.add(base)
                names.update(f"{base}.{alias.name}" if base else alias.name for alias in node.names)
        return names

    def imports(self, *packages: str) -> bool:
        """Whether it imports one of these packages or something of them; what it imports relatively is its own."""
        for node in self._imports:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if not getattr(node, "level", 0) and any(name.partition(".")[0] in packages for name in names):
                return True
        return False

    @cached_property
    def _imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The import statements, wherever they stand; only statements are looked at, which is fast."""
        found: list[ast.Import | ast.ImportFrom] = []
        todo: list[ast.AST] = list(self.tree.body)
        while todo:
            node = todo.pop()
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.append(node)
            elif not isinstance(node, (ast.Expr, ast.Assign, ast.Return)):
                for block in ("body", "orelse", "handlers", "finalbody", "cases"):
                    todo.extend(getattr(node, block, ()))
        return found

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """The statements of its top level by the names that they bind, without what runs only as a script."""
        return bindings_of([node for node in self.tree.body if not is_main_guard(node)])

    @cached_property
    def stars(self) -> list[ast.ImportFrom]:
        """Its `from … import *`."""
        return [node for node in self._imports if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]

    @cached_property
    def ignored(self) -> dict[int, Ignored]:
        """The comments that silence findings, by line."""
        if "torchstone" not in self.text:
            return {}
        found = {}
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                match = IGNORE.search(token.string) if token.type == tokenize.COMMENT else None
                if match:
                    codes = tuple(code.strip().upper() for code in (match[1] or "").split(",") if code.strip())
                    found[token.start[0]] = Ignored(token.start[0], codes, (match[2] or "").strip())
        except (tokenize.TokenError, IndentationError):
            return found
        return found


def is_main_guard(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__":`."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = (node.test.left, *node.test.comparators)
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


def absolute(node: ast.ImportFrom, module_name: str, path: str) -> str:
    """The dotted name of what is imported from, relative dots resolved."""
    if not node.level:
        return node.module or ""
    package = module_name.split(".")
    drop = node.level - (1 if Path(path).name == "__init__.py" else 0)
    package = package[: len(package) - drop] if drop else package
    return ".".join([*package, *([node.module] if node.module else [])])


def read_module(path: Path, name: str, shown: str) -> Module:
    """The module of a .py or .ipynb file; raises UnreadableSource. shown: how findings call the file."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UnreadableSource(f"{size:,} bytes; files above {MAX_BYTES:,} are not read")
    data = path.read_bytes()
    if path.suffix == ".ipynb":
        text, cells = code_of(data, UnreadableSource)
        return parse_module(text, name, shown, cells)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UnreadableSource(f"not text that Python can read: {error}") from error
    return parse_module(text.replace("\r\n", "\n").replace("\r", "\n"), name, shown)


def parse_module(text: str, name: str = "script", shown: str = "script.py", cells: tuple[Cell, ...] = ()) -> Module:
    """The module of a text; raises UnreadableSource where it is no Python of this interpreter's version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise UnreadableSource(f"not Python: {error.msg}", error.lineno or 0) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSource(f"not Python: {error}") from error
    return Module(shown, name, text, tree, cells)
