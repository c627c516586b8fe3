"""RUN336: a rate that is set where the optimizer does not look."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_optimizer


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer of torch with an attribute lr that none of its groups agrees with."""
    for row in of(rows, "optimizer"):
        seen = row.get("misspelt_rate")
        if seen:
            what = (f"optimizer.{seen['name']} is set to {seen['value']:g}; the groups, which alone count, hold "
                    f"{seen['rates'][0]:g}")
            yield found(RULE, what, where=at(row), evidence=dict(seen))



RULE = Rule(
    code="RUN336",
    name="rate_set_on_object",
    severity="error",
    summary="optimizer.lr = … changes nothing",
    why="An optimizer of torch reads the rate from its param_groups; the schedule written here never takes place.",
    fix="for group in optimizer.param_groups: group['lr'] = lr",
    source="torch 2.14 documentation, torch.optim: Per-parameter options",
    check=check,
    trips=lambda: toy_loop(more=[toy_optimizer(misspelt_rate={"name": "lr", "value": 1e-4, "rates": [1e-3]})]),
    passes=toy_loop,
)
