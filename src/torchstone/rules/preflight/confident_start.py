"""RUN704: outputs that are far too large before anything is learnt."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.meaning.initial_loss import FACTOR
from torchstone.rules.preflight._rows import Rows, measured, toy_rows

# An untrained efficientnet_b0 of torchvision 0.29 spreads by 4.1 to 4.9 on digits (four seeds, 2026-12-02).
LEAST_SPREAD, LEAST_LOSS, FACTOR_OF_NUMBERS = 10.0, 4.0, 100.0


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where fresh weights cost three times a guess because of their spread; of numbers a hundred times."""
    for row in measured(rows, "first_loss"):
        guess, value, spread = row["guess"], row["value"], row["spread"]
        if not row["is_fresh"] or guess <= 0:
            continue
        is_number = row["kind"] == "numbers"
        if is_number and value > FACTOR_OF_NUMBERS * guess:
            what = f"the first loss is {value:.3g}; always answering the mean of the targets would cost {guess:.3g}"
        elif not is_number and value > max(FACTOR * guess, LEAST_LOSS) and spread > LEAST_SPREAD:
            what = (f"the first loss is {value:.3g}, a guess costs {guess:.3g}: the outputs spread by {spread:.3g} "
                    "where about 1 or less is usual")
        else:
            continue
        yield found(RULE, what, evidence={"value": value, "guess": guess, "spread": spread,
                                          "threshold": FACTOR_OF_NUMBERS if is_number else FACTOR})


RULE = Rule(
    code="RUN704",
    name="confident_start",
    severity="warning",
    summary="the untrained model is far worse than a guess",
    why="The first steps are spent on undoing a start that is confidently wrong, often at a rate that breaks the rest.",
    fix="Scale the inputs to mean 0 and deviation 1, targets that are numbers likewise; use the default initialisation "
        "of the last layer.",
    source="Karpathy 2019, A Recipe for Training Neural Networks: verify loss @ init; the factors: starting points",
    check=check,
    trips=lambda: toy_rows("first_loss", value=25.0, expected=24.0, error=2.0, spread=30.0),
    passes=toy_rows,
    wrong_when="training goes on from weights that were trained on something else",
    threshold=f"{FACTOR:g} times a guess and above {LEAST_LOSS:g}, with outputs that spread by more than "
              f"{LEAST_SPREAD:g}; for numbers {FACTOR_OF_NUMBERS:g} times the loss of the mean",
    confidence="likely",
    explains=("RUN408",),
)
