"""Makes docs/parts.md and docs/rules.md from the parts and rules themselves: python docs/make_pages.py"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from torchstone.core import catalog
from torchstone.flows.plan import FOLDERS
from torchstone.flows.rulebook import every_rule, page

DOCS = Path(__file__).resolve().parent


def parts_page() -> str:
    """One section per field of the recipe that takes a part."""
    lines = [
        "# Parts", "",
        "What the fields of a recipe can name, made from the parts by `python docs/make_pages.py`. A part is",
        "written `optimizer: adamw`, or with options `optimizer: {name: adamw, lr: 0.001}`.", "",
    ]  # fmt: skip
    for field, folder in sorted(FOLDERS.items()):
        lines += [f"## {field}", "", "| part | what it gives | options and defaults |", "|---|---|---|"]
        for name in catalog.names(folder):
            part = catalog.find(folder, name)
            options = ", ".join(
                f"`{o.name}`" if o.default is ... else f"`{o.name}={o.default!r}`" for o in catalog.options(part)
            )
            lines.append(f"| `{name}` | {cell(catalog.summary(part))} | {options or 'none'} |")
        lines += ["", *(details(folder, name) for name in catalog.names(folder))]
    return "\n".join(lines).rstrip() + "\n"


def details(folder: str, name: str) -> str:
    """The rest of a part's docstring, folded away."""
    text = inspect.getdoc(catalog.find(folder, name)) or ""
    rest = text.partition("\n")[2].strip()
    return f"<details><summary><code>{name}</code></summary>\n\n```\n{rest}\n```\n</details>\n" if rest else ""


def rules_page() -> str:
    """One section per rule."""
    lines = ["# Rules", "", "What torchstone looks for, made from the rules by `python docs/make_pages.py`.", ""]
    shown = ("why", "fix", "threshold", "wrong_when", "source")
    for rule in every_rule():
        told = page(rule)
        lines += [f"## {told['code']} {told['name'].replace('_', ' ')}", "", f"{told['severity']}: {told['what']}.", ""]
        lines += [f"- **{key.replace('_', ' ')}** {told[key]}" for key in shown]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def cell(text: str) -> str:
    """Text that stays in its cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


PAGES = {"parts.md": parts_page, "rules.md": rules_page}

if __name__ == "__main__":
    for file, make in PAGES.items():
        (DOCS / file).write_text(make(), encoding="utf-8")
