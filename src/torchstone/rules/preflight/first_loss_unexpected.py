"""RUN703: a first loss that chance does not give."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules.preflight._rows import Rows, measured, toy_rows

NUM_ERRORS, SHARE = 4.0, 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where fresh weights begin further from the expected loss than four deviations and 10 % of a guess."""
    for row in measured(rows, "first_loss"):
        off = row["value"] - row["expected"]
        allowed = max(NUM_ERRORS * row["error"], SHARE * abs(row["guess"]))
        if not row["is_fresh"] or abs(off) <= allowed:
            continue
        what = (f"the first loss is {row['value']:.3g}; outputs that know nothing and spread by {row['spread']:.2g} "
                f"would cost {row['expected']:.3g} ± {allowed:.2g}")
        yield found(RULE, what, evidence={**{key: row[key] for key in ("value", "expected", "error", "guess")},
                                          "threshold": allowed})


RULE = Rule(
    code="RUN703",
    name="first_loss_unexpected",
    severity="warning",
    summary="the first loss is not that of a model that knows nothing",
    why="Below: the weights were trained already, or the answer is among the inputs. Above: the last layer begins with "
        "a wrong belief.",
    fix="Below: look where the weights come from, and whether the label stands in the inputs. Above: set the last "
        "layer's bias to 0, or to the log of the classes' shares.",
    source="Karpathy 2019, A Recipe for Training Neural Networks: verify loss @ init; the deviation of chance is that "
           "of 32 exchanges of the output's columns and signs",
    check=check,
    trips=lambda: toy_rows("first_loss", value=0.4),
    passes=lambda: toy_rows("first_loss", value=2.45),
    wrong_when="training goes on from weights that know the task: say is_fresh=False; or the last bias was set to the "
               "shares of the classes on purpose",
    threshold=f"{NUM_ERRORS:g} deviations of chance and {SHARE:.0%} of a guess: log K alone cries wolf on few classes",
    confidence="likely",
)
