"""PLN102: fp16 on a CPU."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding for fp16 where the device is a CPU."""
    if planning.plan["train.precision"] == "fp16" and planning.plan["train.device"] == "cpu":
        yield found(RULE, "train.precision is fp16 and the device is a CPU", where=Where(field="train.precision"))


RULE = Rule(
    code="PLN102",
    name="half_precision_on_cpu",
    severity="warning",
    summary="fp16 is chosen for a CPU",
    why="CPUs compute float16 by way of float32: a transformer took 18 times as long per step.",
    fix="Use bf16 if the CPU has units for it, else fp32.",
    source="our measurement, 2026-12-01, torch 2.14.1: 6,646 ms against 370 ms a step",
    check=check,
    trips=lambda: planning(train__precision="fp16"),
    passes=lambda: planning(train__precision="bf16"),
)
