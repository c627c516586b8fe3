"""REV106: accumulated losses are divided by what the whole step holds."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import first_streak, toy_loop
from torchstone.rules.protocol.accumulation_not_divided import STREAK, is_sick
from torchstone.rules.review._ask import (
    A_STEP,
    by_the_loop,
    ledger,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    steps,
    unsure,
)
from torchstone.rules.review._toy import watched


def loss_per_window(run: Reviewed) -> Answer:
    """Whether the losses of micro-batches are normalised over the optimizer step that they make up."""
    if run.kind == "run":
        return _own(run)
    made = steps(run)
    if not made:
        return not_seen(run, A_STEP)
    several = [row for row in made if (row.get("accumulated") or 0) > 1]
    if not several:
        return left_out("each step has one backward pass: nothing is accumulated", seen_row(made[-1], "accumulated 1"))
    sick = first_streak(several, is_sick, STREAK)
    if sick is not None:
        return refused(f"{sick['accumulated']} losses that are means are added up without being divided",
                       seen_row(sick, f"kinds {', '.join(map(str, sick.get('kinds') or []))}"))
    divided = [row for row in several if (kinds := row.get("kinds")) and all(str(k).startswith("Div") for k in kinds)]
    if len(divided) == len(several):
        return passed(f"each of the losses of {len(several):,} steps ends in a division",
                      seen_row(divided[-1], f"kinds {', '.join(map(str, divided[-1]['kinds']))}"))
    return unsure(f"{several[0]['accumulated']} backward passes a step, and it is not seen by what they are divided",
                  seen_row(several[0], f"kinds {', '.join(map(str, several[0].get('kinds') or []))}"))


def _own(run: Reviewed) -> Answer:
    lines = plan_lines(run, "train.accumulate", "train.batch_size")
    if int(run.plan.get("train.accumulate") or 1) <= 1:
        return left_out("each step is one micro-batch: nothing is accumulated", *lines)
    made = [(line, row) for line, row in run.of("step") if row.get("weight")]
    shown = [ledger(run, *made[-1], f"weight {made[-1][1]['weight']:g}: the targets of the whole step")] if made else []
    return by_the_loop(run, "the loop divides once, by the targets of the whole step over all ranks", "step.py",
                       "factor = len(window.rows) / weight", *shown, *lines)


RULE: Rule = Rule(
    code="REV106",
    name="loss_per_window",
    severity="error",
    summary="accumulated losses are added up without being divided",
    why="The step is then as many times too large as there are micro-batches, and unequal ones weigh alike.",
    fix="Divide each loss by the number of targets of the whole optimizer step.",
    source="transformers#34191; Unsloth, Bugs in LLM training: gradient accumulation, 2024-10-15",
    check=lambda run: said_no(RULE, loss_per_window(run)),
    trips=lambda: watched(toy_loop(change=lambda number, row: {
        "accumulated": 4, "backwards": 4, "forwards": 4, "batches": 4, "kinds": ["NllLossBackward0"] * 4})),
    passes=lambda: watched(toy_loop(change=lambda number, row: {
        "accumulated": 4, "backwards": 4, "forwards": 4, "batches": 4, "kinds": ["DivBackward0"] * 4})),
)
