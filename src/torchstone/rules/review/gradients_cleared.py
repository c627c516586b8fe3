"""REV102: gradients are cleared once per step, at the right place."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import first_streak, toy_loop
from torchstone.rules.protocol.no_zero_grad import STREAK
from torchstone.rules.review._ask import by_the_loop, not_seen, passed, refused, said_no, seen_row, steps, unsure
from torchstone.rules.review._toy import watched


def gradients_cleared(run: Reviewed) -> Answer:
    """Whether the gradients that a step has used were gone at the next backward pass."""
    if run.kind == "run":
        return by_the_loop(run, "the loop clears the gradients before the first micro-batch of every step", "step.py",
                           "job.optimizer.zero_grad(set_to_none=True)")  # fmt: skip
    made = [row for row in steps(run) if row.get("is_cleared") is not None]
    if not made:
        return not_seen(run, "two steps of an optimizer in a row")
    sick = first_streak(made, lambda row: row["is_cleared"] is False, STREAK)
    if sick is not None:
        return refused(f"used gradients were still there at the next backward pass, {STREAK} times in a row",
                       seen_row(sick, "is_cleared is false"))
    left = [row for row in made if not row["is_cleared"] or row.get("is_stale")]
    if left:
        return unsure(f"gradients were left at {len(left):,} of {len(made):,} steps, never {STREAK} times in a row",
                      seen_row(left[0], "is_cleared is false, or is_stale is true"))
    return passed(f"used gradients were gone at {len(made):,} of {len(made):,} steps that were seen",
                  seen_row(made[-1], "is_cleared is true"))


RULE: Rule = Rule(
    code="REV102",
    name="gradients_cleared",
    severity="error",
    summary="gradients of one step were still there in the next",
    why="Steps then follow the sum of all gradients so far instead of those of their batch.",
    fix="Call optimizer.zero_grad(set_to_none=True) once per step, before the first backward pass.",
    source="torch 2.14 documentation, torch.optim.Optimizer.zero_grad",
    check=lambda run: said_no(RULE, gradients_cleared(run)),
    trips=lambda: watched(toy_loop(change=lambda number, row: {"is_cleared": False})),
    passes=lambda: watched(toy_loop()),
)
