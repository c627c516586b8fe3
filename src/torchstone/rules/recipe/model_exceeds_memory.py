"""PLN121: weights and state that are larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.parts.choices.memory import fixed_bytes
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where weights, gradients and the optimizer's state exceed what a rank may plan with."""
    facts, plan = planning.facts, planning.plan
    budget = facts.get("memory_budget")
    if not facts.get("parameters") or not budget:
        return
    needed = fixed_bytes(facts, str(plan["optimizer.name"]))
    if needed > budget:
        yield found(
            RULE, f"weights, gradients and {plan['optimizer.name']}'s state take {needed / 2**30:.2f} GiB of "
            f"{budget / 2**30:.2f} GiB, before the first example", where=Where(field="model"),
            evidence={"bytes": needed, "threshold": int(budget)},
        )


RULE = Rule(
    code="PLN121",
    name="model_exceeds_memory",
    severity="warning",
    summary="the model with its gradients and state does not fit into the memory",
    why="The run will end when memory runs out, or crawl through the swap file.",
    fix="Take a smaller model, an optimizer with less state (adafactor, lion, adamw_8bit), freeze layers, or start "
    "several ranks with train.strategy zero, which share out the state.",
    source="Rajbhandari et al. 2020, ZeRO, section 3: what weights, gradients and state take",
    check=check,
    trips=lambda: planning(facts={"parameters": 10**9, "weight_bytes": 4 * 10**9, "memory_budget": 8 * 10**9}),
    passes=lambda: planning(facts={"parameters": 10**8, "weight_bytes": 4 * 10**8, "memory_budget": 8 * 10**9}),
    wrong_when="most layers are frozen: frozen weights have no gradient and no state",
    threshold="70 % of the device's memory, or of this rank's part of the machine's",
)
