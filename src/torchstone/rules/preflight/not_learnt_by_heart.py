"""RUN710: a few examples that the model does not learn by heart."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows

SHARE = 0.5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where less than half of the way from one constant answer to the least loss was made, in whole tries.

    Silent where time was over before the tries were made: a slow machine is no fault.
    """
    for row in measured(rows, "overfit"):
        way = row["constant"] - row["floor"]
        needed = row["floor"] + SHARE * way
        if row["is_learnt"] or row["is_over"] or way <= 0 or row["last"] <= needed:
            continue
        what = (f"{row['num']} examples may be more than this model can learn by heart: in {row['steps']} steps the "
                f"loss came to {row['last']:.3g}, the same answer for all of them costs {row['constant']:.3g}")
        yield found(RULE, what, evidence={**{key: row[key] for key in ("first", "last", "constant", "floor", "steps")},
                                          "threshold": needed})


RULE = Rule(
    code="RUN710",
    name="not_learnt_by_heart",
    severity="warning",
    summary="a few examples may not be learnt by heart",
    why="A model that cannot learn a few examples is wired wrongly, or blind to what tells them apart; more data and "
        "another rate will not help.",
    fix="Look at the first batch and its labels; look for detached or frozen layers, dead activations and inputs of "
        "one constant value.",
    source="Karpathy 2019, A Recipe for Training Neural Networks: overfit one batch; the half: starting point",
    check=check,
    trips=lambda: toy_rows("overfit", last=2.2, steps=303, is_learnt=False),
    passes=lambda: toy_rows("overfit", last=2.2, steps=20, is_learnt=False, is_over=True),
    wrong_when="most layers are frozen, or the loss has a floor of its own, as that of a variational autoencoder",
    threshold=f"{SHARE:.0%} of the way, three rates of Adam, 100 steps each",
    confidence="likely",
)
