"""PLN101: a loss that does not fit the target."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import NUMBER, planning

# loss → kinds of target (one class, several labels, a number) that it is made for; other losses are not judged
KNOWN = {
    "cross_entropy": ("single",), "logit_adjusted": ("single",), "arcface": ("single",), "focal": ("single", "multi"),
    "binary_cross_entropy": ("multi",), "dice": ("multi",), "mse": ("number",),
    "mae": ("number",), "huber": ("number",), "smooth_l1": ("number",), "quantile": ("number",),
}  # fmt: skip


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where the loss is made for another kind of target."""
    loss, target = planning.plan["loss.name"], planning.task.target
    if loss in KNOWN and target not in KNOWN[loss]:
        fitting = [name for name, kinds in KNOWN.items() if target in kinds]
        yield found(
            RULE, f"the loss is {loss}; {planning.task.name} needs one of {', '.join(fitting)}",
            where=Where(field="loss"), evidence={"loss": loss, "target": target},
        )


RULE = Rule(
    code="PLN101",
    name="unfit_loss",
    severity="error",
    summary="the loss is made for another kind of target",
    why="It measures something else than the task asks for: training goes on and the model is wrong.",
    fix="Use the loss that the plan proposes.",
    source="Goodfellow et al. 2016, Deep Learning, 6.2.2",
    check=check,
    trips=lambda: planning(NUMBER, loss__name="cross_entropy"),
    passes=lambda: planning(NUMBER, loss__name="huber"),
)
