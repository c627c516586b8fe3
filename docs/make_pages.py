"""Makes docs/parts.md, rules.md and which-loss-and-optimizer.md from parts and rules: python docs/make_pages.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from torchstone.core import catalog
from torchstone.flows.plan import FOLDERS
from torchstone.flows.rulebook import every_rule, page
from torchstone.parts.choices.case import Case
from torchstone.parts.choices.memory import STRATEGIES
from torchstone.parts.choices.which_loss import LOSSES, has_task
from torchstone.parts.choices.which_model import MODELS
from torchstone.parts.choices.which_optimizer import CLIPPING, OPTIMIZERS

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


KINDS = {
    "single": "one class", "multi": "several labels", "number": "a number", "pairs": "pairs", "triplets": "triplets",
    "identity": "identities", "views": "two views", "two_encoders": "two encoders", "boxes": "boxes (detection)",
    "mask": "masks (segmentation)", "sequence": "sequences", "teacher": "a teacher (distillation)",
    "any": "any model", "cnn": "convolutions", "transformer": "transformer", "recurrent": "GRU, LSTM",
    "image": "pictures", "text": "texts", "table": "tables", "perceptron": "perceptron (tables)",
    "adversarial": "adversarial (GAN)", "ranks": "several ranks",
}  # fmt: skip


def choices_page() -> str:
    """Tables made from the rows that the plan reads, the first that holds wins."""
    strategies = catalog.names("torchstone.engines.pytorch.strategies")
    lines = [
        "# Which loss, which optimizer", "",
        "The tables that `torchstone plan` chooses by, made from them by `python docs/make_pages.py`. Of several",
        "rows of a kind the first whose condition holds counts. What the recipe says always wins. Rows marked with *",
        "are for kinds that no task of torchstone trains yet: the part is there, for a loop of your own, and",
        "`torchstone.parts.choices.which_loss.which_loss` answers for them too; a strategy with * is not built.",
        "",
        "## Loss", "", *_rows(LOSSES, "learnt from", lambda case: has_task(case.kind)),
        "## Model", "", *_rows(MODELS, "what is read", lambda case: True),
        "## Optimizer", "", *_rows(OPTIMIZERS, "model", lambda case: case.kind != "adversarial"),
        "## Clipping", "", "The largest norm of a gradient, `train.clip_norm`.", "",
        *_rows(CLIPPING, "model", lambda case: True),
        "## Ranks", "", *_rows(STRATEGIES, "started as", lambda case: case.choice in strategies),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _rows(cases: Sequence[Case], first: str, is_trained: Callable[[Case], bool]) -> list[str]:
    lines = [f"| {first} | condition | choice | why | instead, if | source |", "|---|---|---|---|---|---|"]
    for case in cases:
        kind = KINDS.get(case.kind, case.kind) + ("" if is_trained(case) else " *")
        choice = f"`{case.choice}`" + (f": {case.options_say}" if case.options_say else "")
        told = (kind, case.condition, choice, case.reason, case.changes_if, case.source)
        lines.append("| " + " | ".join(cell(text) for text in told) + " |")
    return [*lines, ""]


def cell(text: str) -> str:
    """Text that stays in its cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


PAGES = {"parts.md": parts_page, "rules.md": rules_page, "which-loss-and-optimizer.md": choices_page}

if __name__ == "__main__":
    for file, make in PAGES.items():
        (DOCS / file).write_text(make(), encoding="utf-8")
