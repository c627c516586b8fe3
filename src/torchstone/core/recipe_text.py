"""A recipe as a file that a person wants to read: every field with what it is and why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from torchstone.core import marks

_BARE = re.compile(r"[A-Za-z_./][\w./-]*( [\w./-]+)*")


def recipe_text(
    recipe: Mapping[str, Any], comments: Mapping[str, str], *, planned: Mapping[str, Any] | None = None
) -> str:
    """YAML text of a recipe.

    recipe: nested fields that are fixed. comments: dotted field → one sentence above it.
    planned: dotted field → value that the plan would take; it is shown commented out.
    """
    tree: dict[str, Any] = {}
    fixed, open_fields = _flat(recipe), {f: _Planned(v) for f, v in (planned or {}).items()}
    for field, value in {**fixed, **open_fields, **fixed}.items():
        *sections, last = field.split(".")
        here = tree
        for name in sections:
            here = here.setdefault(name, {})
        if isinstance(here, dict):
            here.setdefault(last, value)
    return "\n".join(_lines(tree, comments, "")) + "\n"


class _Planned:
    """A value that is not fixed."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in recipe.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _lines(tree: Mapping[str, Any], comments: Mapping[str, str], prefix: str) -> list[str]:
    indent, lines = "  " * prefix.count("."), list[str]()
    for name, value in tree.items():
        field = prefix + name
        if not prefix and lines:
            lines.append("")
        if field in comments:
            start = f"{indent}# "
            lines += textwrap.wrap(comments[field], 110, initial_indent=start, subsequent_indent=start)
        if isinstance(value, dict):
            mark = "# " if not _has_fixed(value) and prefix else ""
            inner = _lines(value, comments, field + ".")
            lines += [f"{indent}{mark}{scalar(name)}:", *inner]
        elif isinstance(value, _Planned):
            lines.append(f"{indent}# {scalar(name)}: {scalar(value.value)}")
        else:
            lines.append(f"{indent}{scalar(name)}: {scalar(value)}")
    return lines


def _has_fixed(tree: Mapping[str, Any]) -> bool:
    return any(_has_fixed(v) if isinstance(v, dict) else not isinstance(v, _Planned) for v in tree.values())


def scalar(value: Any) -> str:
    """A value in one line of YAML that `marks.parse` reads back as the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(scalar(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{scalar(str(k))}: {scalar(v)}' for k, v in value.items())}}}"
    if isinstance(value, float):
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(repr(value), repr(value))
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) and isinstance(marks.plain(value), str) else _quoted(value)
    return str(value)


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'
