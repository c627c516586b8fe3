"""PLN120: probabilities where a loss wants logits."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

# What the last operation of a model is called by autograd, and the losses that apply it themselves.
TWICE = {
    "SoftmaxBackward0": ("cross_entropy", "logit_adjusted", "focal", "distillation"),
    "SigmoidBackward0": ("binary_cross_entropy", "focal", "cross_entropy", "logit_adjusted"),
}
NAMES = {"SoftmaxBackward0": "a softmax", "SigmoidBackward0": "a sigmoid"}


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where the model ends with what the loss does again."""
    last, loss = str(planning.facts.get("last_operation")), planning.plan["loss.name"]
    if loss in TWICE.get(last, ()):
        yield found(
            RULE, f"{planning.plan['model.name']} ends with {NAMES[last]}, and {loss} expects logits",
            where=Where(field="model"), evidence={"last_operation": last, "loss": loss},
        )


RULE = Rule(
    code="PLN120",
    name="softmax_before_loss",
    severity="error",
    summary="the model ends with the softmax or sigmoid that is part of the loss",
    why="Applied twice it flattens the answers: gradients become small, and no answer can be sure.",
    fix="Remove the last softmax or sigmoid from the model's forward; probabilities are made when it is judged.",
    source="torch 2.14, torch.nn.CrossEntropyLoss: the input is expected to contain the unnormalized logits",
    check=check,
    trips=lambda: planning(facts={"last_operation": "SoftmaxBackward0"}),
    passes=lambda: planning(facts={"last_operation": "AddmmBackward0"}),
)
