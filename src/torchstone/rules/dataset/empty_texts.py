"""DAT210: texts without a letter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.dataset._toy import places, toy


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding where all text columns of some examples are missing or blank."""
    columns = [dataset.inputs[name] for name, kind in dataset.kinds.items() if kind == "text"]
    if not columns or len(columns) < len(dataset.kinds):
        return
    is_empty = np.ones(len(dataset), dtype=bool)
    for column in columns:
        is_empty &= np.array([text is None or not str(text).strip() for text in column], dtype=bool)
    rows = np.flatnonzero(is_empty)
    if len(rows):
        yield found(
            RULE,
            f"{len(rows):,} of {len(dataset):,} texts are empty; the first: {places(dataset, rows)[0]}",
            where=Where(path=places(dataset, rows)[0]),
            evidence={"texts": len(rows), "of": len(dataset), "places": places(dataset, rows, 20)},
        )


RULE = Rule(
    code="DAT210",
    name="empty_texts",
    severity="warning",
    summary="some texts are empty",
    why="Their label cannot be learnt from nothing: the model learns a guess for the empty text.",
    fix="Leave these rows out, or mend the export that lost their text.",
    source="a yes-or-no fact of the data",
    check=check,
    trips=lambda: toy(["a", " ", "c"], ["cat", "dog", "dog"]),
    passes=lambda: toy(["a", "b", "c"], ["cat", "dog", "dog"]),
    wrong_when="an empty text is an answer of its own",
)
