"""REV103: no graph is built in validation."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import toy_loop, toy_pass
from torchstone.rules.review._ask import by_the_loop, evaluations, not_seen, passed, refused, said_no, seen_row, unsure
from torchstone.rules.review._toy import watched


def validation_without_graph(run: Reviewed) -> Answer:
    """Whether validation ran under no_grad or inference_mode."""
    if run.kind == "run":
        return by_the_loop(run, "the loop scores under inference_mode", "scoring.py", "torch.inference_mode()")
    judged = evaluations(run)
    if not judged:
        return not_seen(run, "validation over a DataLoader")
    built = [row for row in judged if row["forwards_with_grad"]]
    if any(row["is_whole"] and row["forwards_with_grad"] == row["forwards"] for row in built):
        return refused(f"{len(built):,} of {len(judged):,} passes of validation built a graph for their batches",
                       seen_row(built[0], f"forwards_with_grad {built[0]['forwards_with_grad']}"))
    if built:
        return unsure(f"{len(built):,} of {len(judged):,} passes built a graph for some batches",
                      seen_row(built[0], f"{built[0]['forwards_with_grad']} of {built[0]['forwards']}"))
    return passed(f"none of {len(judged):,} passes of validation built a graph",
                  seen_row(judged[-1], "forwards_with_grad 0"))


RULE: Rule = Rule(
    code="REV103",
    name="validation_without_graph",
    severity="warning",
    summary="validation builds a graph for every batch",
    why="It takes memory and time for gradients that nobody asks for, and an outer sum of losses then grows.",
    fix="Put validation under torch.inference_mode() or torch.no_grad().",
    source="torch 2.14 documentation, Autograd mechanics, Locally disabling gradient computation",
    check=lambda run: said_no(RULE, validation_without_graph(run)),
    trips=lambda: watched(toy_loop(more=[toy_pass(forwards_with_grad=3)])),
    passes=lambda: watched(toy_loop(more=[toy_pass()])),
    wrong_when="a saliency map or an attack is computed in validation",
)
