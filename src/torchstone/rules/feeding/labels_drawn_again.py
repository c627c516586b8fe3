"""RUN516: inputs that come with another label each time."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

FEWEST, SHARE = 32, 0.3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader in whose second pass a third of the inputs that came again had another label."""
    for row in of(rows, "relabelled"):
        if row["num"] >= FEWEST and row["different"] >= SHARE * row["num"]:
            what = (f"{row['different']} of {row['num']} inputs that came again in the second pass had another label "
                    "than in the first")
            yield found(RULE, what, where=at(row), evidence={"num": row["num"], "different": row["different"],
                                                             "threshold": SHARE})  # fmt: skip


def _row(different: int) -> dict[str, object]:
    return {"event": "relabelled", "step": 28, "loader": 0, "place": "train.py:25", "num": 448, "different": different}


RULE = Rule(
    code="RUN516",
    name="labels_drawn_again",
    severity="error",
    summary="the same input has another label in each epoch",
    why="There is nothing to learn but the shares of the labels: the loss stays where guessing is.",
    fix="Draw or look up labels once, in the dataset's __init__; look for random calls, shuffles and a wrong index in "
        "__getitem__.",
    source="our own: inputs are compared number by number, those with several labels in one pass are left out",
    check=check,
    trips=lambda: toy_loop(more=[_row(300)]),
    passes=lambda: toy_loop(more=[_row(20)]),
    wrong_when="one of many raters' labels is drawn on purpose",
    threshold=f"{SHARE:.0%} of at least {FEWEST} inputs; at most 5 % where raters disagree (Peterson et al. 2019): "
              "starting point",
    explains=("RUN605", "RUN607", "RUN511"),
)
