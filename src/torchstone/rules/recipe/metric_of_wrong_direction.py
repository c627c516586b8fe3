"""PLN112: the best checkpoint would be the worst."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.parts.metrics import direction
from torchstone.rules.recipe._toy import NUMBER, planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where the task says of its metric the opposite of what the metric is."""
    task, metric = planning.task, planning.plan["metric"]
    if metric == task.metric and task.direction != direction(metric):
        yield found(
            RULE, f"{task.name} wants the {task.direction}imum of {metric}, of which {_word(metric)} is better",
            where=Where(field="metric"), evidence={"metric": metric, "task": task.direction},
        )


def _word(metric: str) -> str:
    return "more" if direction(metric) == "max" else "less"


RULE = Rule(
    code="PLN112",
    name="metric_of_wrong_direction",
    severity="error",
    summary="the task takes the worse value of its metric for the better one",
    why="Best checkpoint and early stopping would keep the worst weights of the run.",
    fix="Correct the direction of the task part; metrics know theirs.",
    source="a mistake of hand-written tasks; Keras and Lightning ask for a mode beside each monitored metric, 2026",
    check=check,
    trips=lambda: planning(replace(NUMBER, direction="max"), metric="rmse", loss__name="mse"),
    passes=lambda: planning(NUMBER, metric="rmse", loss__name="mse"),
)
