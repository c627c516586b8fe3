"""RUN409: the target is the input itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the class targets of three training batches are the very integers the model was given."""
    calls = [row for row in of(rows, "loss") if row["has_grad"] and row.get("is_input") is not None]
    sick = [row for row in calls if row["is_input"]]
    if len(sick) >= 3 and len(sick) == len(calls):
        what = "the targets of the loss are the tokens that the model was given at the same places, in every batch seen"
        yield found(RULE, what, where=at(sick[-1]), evidence={"batches": len(sick)})


RULE = Rule(
    code="RUN409",
    name="label_is_input",
    severity="error",
    summary="a language model is asked for the token it was just given",
    why="Copying the input solves the task: the loss falls to almost 0 and nothing is learnt about what comes next.",
    fix="Shift the targets by one: logits[:, :-1] against tokens[:, 1:].",
    source="transformers documentation, Causal language modeling (labels are shifted inside its models)",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(is_input=True)] * 3),
    passes=lambda: toy_loop(more=[toy_loss(is_input=False)] * 3),
    wrong_when="an autoencoder of tokens, or masked language modelling that scores all tokens",
)
