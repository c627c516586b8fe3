"""PLN119: bf16 without units for it."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding for bf16 on a device that computes it by way of float32."""
    plan, facts = planning.plan, planning.facts
    if plan["train.precision"] == "bf16" and facts.get("has_bf16") is False:
        yield found(RULE, f"train.precision is bf16 and this {plan['train.device']} has no units for it",
                    where=Where(field="train.precision"), evidence={"has_bf16": False})


RULE = Rule(
    code="PLN119",
    name="emulated_bf16",
    severity="warning",
    summary="bf16 is chosen for a device without units for it",
    why="Every product is computed in float32 and rounded: no faster, and less exact.",
    fix="Use fp32; on CUDA without bf16 fp16, which brings its loss scaler along.",
    source="Kalamkar et al. 2019, A Study of BFLOAT16; torch 2.14: torch.cuda.is_bf16_supported",
    check=check,
    trips=lambda: planning(facts={"has_bf16": False}, train__precision="bf16"),
    passes=lambda: planning(facts={"has_bf16": True}, train__precision="bf16"),
    wrong_when="the run is to repeat on this machine what another did",
)
