"""YAML as people mean it, and the line of every field.

PyYAML follows YAML 1.1, where `no` is false, `1:30` is ninety and `1e-3` is a text. Here plain words are read by the
core schema of YAML 1.2 (yaml.org/spec/1.2.2, chapter 10.3): only `true` and `false` are truth values, `1e-3` is a
number, and a number with a leading zero (`01`) stays the text that was typed.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import yaml

from torchstone.core.errors import StoneError, StoneErrors

# A recipe of ours has some 60 fields; these limits only stop files that were never recipes (and the "billion laughs",
# where nine short lines of aliases unfold to 10^9 values).
MAX_BYTES = 1 << 20
MAX_VALUES = 10_000
MAX_DEPTH = 20

Path = tuple[Hashable, ...]
_WORDS: dict[str, Any] = {"": None, "~": None, **dict.fromkeys(("null", "Null", "NULL"), None)}
_WORDS |= {**dict.fromkeys(("true", "True", "TRUE"), True), **dict.fromkeys(("false", "False", "FALSE"), False)}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


@dataclass(frozen=True)
class Marked:
    """A parsed text: its value, and the line (from 1) at which each path in it stands."""

    value: Any
    lines: dict[Path, int]


def plain(text: str) -> Any:
    """The value of one unquoted word: None, a truth value, a number, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 1000 else text
    if _FLOAT.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text):
        return float(text)
    return _SPECIAL.get(text.lower(), text)


def parse(text: str, source: str) -> Marked:
    """Parses one YAML document; `source` names it in errors.

    Raises StoneErrors with file and line: broken syntax, a field given twice, tags, merge keys, unbounded aliases.
    """
    if len(text) > MAX_BYTES:
        raise StoneError(f"{len(text):,} characters; a recipe has at most {MAX_BYTES:,}", where=source)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text, source) from None
    except yaml.YAMLError as error:
        raise StoneError(f"not YAML: {' '.join(str(error).split())}", where=source) from None
    except RecursionError:
        raise StoneError(f"nested deeper than {MAX_DEPTH} levels", where=source) from None
    reader = _Reader(source)
    value = None if node is None else reader.read(node, (), node.start_mark.line + 1)
    if reader.errors:
        raise StoneErrors(reader.errors)
    return Marked(value, reader.lines)


def _syntax(error: yaml.MarkedYAMLError, text: str, source: str) -> StoneError:
    mark = error.problem_mark or error.context_mark
    where = f"{source}:{mark.line + 1}" if mark else source
    line = text.splitlines()[mark.line] if mark and mark.line < len(text.splitlines()) else ""
    fix = None
    if "\t" in line[: len(line) - len(line.lstrip())]:
        fix = "indent with spaces; YAML has no tabs"
    elif "single document" in (error.context or ""):
        fix = "keep one recipe in one file, without '---' in between"
    elif line.count(":") > 1 or "mapping values" in (error.problem or ""):
        fix = "put quotes around a value that contains ': '"
    return StoneError(f"not YAML: {error.problem or error.context}", where=where, fix=fix)


class _Reader:
    """Turns nodes into values, noting lines and mistakes on the way."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: dict[Path, int] = {}
        self.errors: list[StoneError] = []
        self.count = 0

    def error(self, what: str, line: int, path: Path, fix: str | None = None) -> None:
        self.errors.append(StoneError(what, where=f"{self.source}:{line} {dotted(path)}".rstrip(), fix=fix))

    def read(self, node: yaml.Node, path: Path, line: int) -> Any:
        self.count += 1
        if self.count > MAX_VALUES or len(path) > MAX_DEPTH:
            many = f"more than {MAX_VALUES:,} values"
            what = many if self.count > MAX_VALUES else f"deeper than {MAX_DEPTH} levels"
            raise StoneError(f"{what} once its aliases (*name) are unfolded", where=f"{self.source}:{line}")
        self.lines[path] = line
        if not str(node.tag).startswith("tag:yaml.org,2002:") or "/" in node.tag:
            self.error(f"the tag '{node.tag}' is not understood", line, path, "write the plain value")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, i), item.start_mark.line + 1) for i, item in enumerate(node.value)]
        is_quoted = isinstance(node, yaml.ScalarNode) and node.style is not None
        return node.value if is_quoted else plain(node.value)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, item in node.value:
            line, name = key.start_mark.line + 1, str(key.value)
            if not isinstance(key, yaml.ScalarNode):
                self.error("a list or section cannot be the name of a field", line, path)
            elif key.tag.endswith(":merge"):
                self.error("merge keys (<<) are not understood", line, path, "write the fields out")
            elif name in values:
                earlier = self.lines[(*path, name)]
                self.error(f"given twice; first at line {earlier}", line, (*path, name), "keep one of them")
            else:
                values[name] = self.read(item, (*path, name), line)
        return values


def dotted(path: Path) -> str:
    """A path as people write it: `data.features[2]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")
