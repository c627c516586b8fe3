"""RUN306: parameters that the optimizer holds and that never had a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, some, toy_loop, toy_optimizer

STEPS, SHARE, PATIENT_STEPS = 10, 0.2, 50


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with a fifth of its weights silent after 10 steps, or any after 50."""
    for row in of(rows, "optimizer"):
        num, steps = row.get("num_silent", 0), row.get("own_steps", 0)
        share = row.get("silent_weights", 0) / max(row.get("weights", 1), 1)
        if not num or num == row["num_parameters"] or num == row.get("num_strangers"):
            continue  # all of them: RUN302; tensors of no model: RUN308
        if not (steps >= PATIENT_STEPS or (steps >= STEPS and share >= SHARE)):
            continue
        what = (f"{num} of {row['num_parameters']} parameters ({share:.0%} of the weights) had no gradient in "
                f"{steps} steps: {some(row['silent'])}")
        yield found(
            RULE, what, where=at({**row, "step": steps}, layer=row["silent"][0]),
            severity="error" if share >= SHARE else "warning",
            evidence={"silent": row["silent"], "num": num, "share": share, "steps": steps},
        )


RULE = Rule(
    code="RUN306",
    name="silent_parameters",
    severity="error",
    summary="parameters to be trained never get a gradient",
    why="A part of the model stays as it was made: .detach() or no_grad in forward, or a branch that is not used.",
    fix="Look for .detach(), .data, torch.no_grad() or numpy in the forward pass before these layers; freeze them with "
        "requires_grad_(False) if they are not meant to learn.",
    source="LoRA#26; open-unlearning#178",
    check=check,
    trips=lambda: toy_loop(more=[toy_optimizer(silent=["body.weight", "body.bias"], num_silent=2, silent_weights=800)]),
    passes=toy_loop,
    wrong_when="experts or branches that are used rarely: those of few weights are a warning, after 50 steps",
    explains=("RUN603",),
    threshold=f"{SHARE:.0%} of the weights after {STEPS} steps, or any after {PATIENT_STEPS}; never means never",
)
