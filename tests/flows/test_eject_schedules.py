"""The learning rate of an ejected script is that of the run's own schedule, step by step and bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from torchstone.core import catalog
from torchstone.core.plan import Choice, Plan
from torchstone.flows import eject_parts
from torchstone.flows.eject_script import Script
from torchstone.flows.eject_text import Copied, render

CASES: list[tuple[str, dict[str, Any]]] = [
    ("constant", {"warmup": 0.1}), ("cosine", {"warmup": 7, "floor": 0.01}), ("linear", {"warmup": 0, "floor": 0.0}),
    ("polynomial", {"warmup": 0.05, "floor": 0.1, "power": 2.0}), ("exponential", {"warmup": 0.2, "end": 0.01}),
    ("step", {"milestones": [0.5, 80], "factor": 0.3, "warmup": 12}),
    ("one_cycle", {"peak": 0.3, "start": 0.04, "end": 1e-4, "momentum": None}),
]  # fmt: skip


@pytest.mark.parametrize("name, options", CASES, ids=[name for name, _ in CASES])
@pytest.mark.parametrize("total", [1, 5, 100])
def test_the_multiplier_is_that_of_the_run(name: str, options: dict[str, Any], total: int) -> None:
    fields = {"schedule.name": name, **{f"schedule.options.{key}": value for key, value in options.items()}}
    plan = Plan({field: Choice(field, value, "given", "given by the user") for field, value in fields.items()})
    made = Script(plan)
    eject_parts.add_schedule(made)
    names: dict[str, Any] = {"math": math, "Sequence": Sequence}
    exec(render("schedule", made.flags, made.values, Copied()), names)
    own = catalog.find("torchstone.parts.schedules", name)(**options)
    for step in range(total):
        assert names["multiplier"](step, total, **made.settings["schedule"]) == own(step, total), step
