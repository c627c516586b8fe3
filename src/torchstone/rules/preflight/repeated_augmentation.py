"""RUN709: random changes that are not random."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Row, Rows, measured, toy_rows

FEWEST = 8


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where augmented examples are alike in two epochs, in two workers, or cannot be made again."""
    for row in measured(rows, "augmentation"):
        what = _unrepeatable(row) or _alike(row)
        if what:
            keys = ("same_in_epochs", "same_in_workers", "same_when_asked_again", "is_repeatable", "workers", "num")
            is_harmless = row["is_wanted"] and row.get("is_repeatable", True)  # as if there were no augmentation
            yield found(RULE, what, severity="warning" if is_harmless else "error",
                        evidence={key: row[key] for key in keys if row.get(key) is not None})


def _alike(row: Row) -> str:
    if row["is_wanted"]:
        is_alike = row["num"] >= FEWEST and row["same_in_epochs"] == 1.0
        parts = ", ".join(row["parts"])
        return f"{parts}: all of {row['num']} examples come alike in the first two epochs" if is_alike else ""
    if row.get("same_when_asked_again", 1.0) > 0:  # not random, or not each time
        return ""
    alike = [words for key, words in (("same_in_workers", f"in each of {row['workers']} workers"),
                                      ("same_in_epochs", "in the next epoch, whose workers start anew")) if
             row.get(key) == 1.0]  # fmt: skip
    return f"the dataset changes its examples at random, and draws the same {' and '.join(alike)}" if alike else ""


def _unrepeatable(row: Row) -> str:
    if not row["is_wanted"] or row.get("is_repeatable", True):
        return ""
    return f"{', '.join(row['parts'])}: the same example of the same epoch comes differently when it is made again"


RULE = Rule(
    code="RUN709",
    name="repeated_augmentation",
    severity="error",
    summary="augmented examples repeat in epochs or workers, or cannot be made again",
    why="A generator kept by the dataset is copied into every worker, anew in every epoch: the model sees a few fixed "
        "changes. One that is drawn from at will makes a resumed run another run.",
    fix="Draw from a generator that is seeded from (seed, epoch, index) in __getitem__, or from torch's own, which "
        "each worker gets with another seed.",
    source="pytorch#5059; measured with torch 2.14.1, 2026-12-01: four workers drew the same numbers in every epoch",
    check=check,
    trips=lambda: toy_rows("augmentation", is_wanted=False, parts=[], num=4, same_in_epochs=1.0, same_in_workers=1.0,
                           same_when_asked_again=0.0, workers=2),
    passes=lambda: toy_rows("augmentation", is_wanted=False, parts=[], num=4, same_in_epochs=0.0, same_in_workers=0.0,
                            same_when_asked_again=0.0, workers=2),
    threshold="all of the examples alike",
)
