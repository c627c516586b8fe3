"""RUN308: the optimizer holds tensors that are not the model's."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_optimizer

STEPS = 5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with tensors of no model that never had a gradient."""
    for row in of(rows, "optimizer"):
        num = row.get("num_strangers", 0)
        if num and row.get("own_steps", 0) >= STEPS:
            what = (f"{num} of {row['num_parameters']} tensors of {row['kind']} belong to no model that runs, and had "
                    f"no gradient in {row['own_steps']} steps")
            yield found(RULE, what, where=at(row), evidence={"num": num, "of": row["num_parameters"]})


RULE = Rule(
    code="RUN308",
    name="stale_optimizer",
    severity="error",
    summary="the optimizer was built for parameters that were replaced since",
    why="The new parameters are not trained, the old ones are updated in vain.",
    fix="Build the optimizer after the model is complete: after .to(), FSDP, a new head, or load with assign=True.",
    source="pytorch#149205; accelerate#2665, #3209",
    check=check,
    trips=lambda: toy_loop(more=[toy_optimizer(num_strangers=2)]),
    passes=toy_loop,
    threshold=f"no gradient in {STEPS} steps",
)
