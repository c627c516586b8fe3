"""Which column is the label, which split each row is in, where nobody said so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchstone.core.dataset import Split
from torchstone.core.errors import StoneError
from torchstone.core.records import Cell
from torchstone.parts.columns.column import is_text
from torchstone.parts.columns.missing import is_empty, written

# In this order; case does not matter.
LABEL_NAMES = (
    "label", "labels", "target", "targets", "class", "classes", "category", "categories", "y", "intent", "tag",
    "tags", "sentiment", "outcome", "species", "diagnosis", "response", "output", "survived", "churn",
)  # fmt: skip
SPLIT_NAMES = ("split", "subset", "partition", "set", "fold")
SPLIT_WORDS: Mapping[str, Split] = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "dev": "validation", "development": "validation", "eval": "validation", "test": "test", "testing": "test",
}  # fmt: skip
SHOWN = 30


def guess_label(columns: Mapping[str, Sequence[Cell]], where: str) -> tuple[str, str]:
    """The label column and why it is taken.

    The first of LABEL_NAMES that a column has; else the last column, if its values repeat (or are numbers) and it is
    no written text. Raises StoneError that lists the columns.
    """
    by_name: dict[str, list[str]] = {}
    for name in columns:
        by_name.setdefault(name.strip().lower(), []).append(name)
    for known in LABEL_NAMES:
        if len(found := by_name.get(known, [])) > 1:
            raise StoneError(f"{' and '.join(found)} could both be the label", where=where, fix=_fix(found[0]))
        if found:
            return found[0], f"the column is called '{found[0]}'"
    last = list(columns)[-1]
    if len(columns) > 1 and _is_plausible(columns[last]):
        return last, "the last column; no column is called label, target, class, category, y or the like"
    more = f" and {len(columns) - SHOWN:,} more" if len(columns) > SHOWN else ""
    listed = ", ".join(list(columns)[:SHOWN]) + more
    raise StoneError(f"no column looks like the label; columns: {listed}", where=where, fix=_fix("NAME"))


def _fix(name: str) -> str:
    return f"say which it is, e.g. --label {name} (recipe: data.label)"


def _is_plausible(cells: Sequence[Cell]) -> bool:
    present = [written(cell) for cell in cells if not is_empty(cell)]
    if not present or any(isinstance(cell, dict) for cell in cells) or is_text(cells):
        return False
    if all(_is_number(cell) for cell in present):
        return True
    # A class that occurs twice on average: fewer repeats look like names or texts. Starting point.
    return len(set(present)) <= max(2, len(present) / 2)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def guess_split(columns: Mapping[str, Sequence[Cell]]) -> str | None:
    """The column whose name is one of SPLIT_NAMES and whose every value is one of SPLIT_WORDS, or None."""
    for name, cells in columns.items():
        if name.strip().lower() in SPLIT_NAMES and all(split_word(cell) is not None for cell in cells):
            return name
    return None


def split_word(cell: Cell) -> Split | None:
    """The split that a word means (`dev` is validation), or None."""
    return SPLIT_WORDS.get(cell.strip().lower()) if isinstance(cell, str) else None
