"""RUN338: parameters whose gradient is always exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, some, toy_loop, toy_optimizer

SHARE = 0.05


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with a twentieth of its weights at a gradient of exactly zero in all samples."""
    for row in of(rows, "optimizer"):
        names, share = row.get("zeros") or [], row.get("zero_weights", 0) / max(row.get("weights", 1), 1)
        if names and SHARE <= share < 1:
            what = (f"{len(names)} parameters ({share:.0%} of the weights) had gradients of exactly 0 at all samples: "
                    f"{some(names)}")
            yield found(RULE, what, where=at(row, layer=names[0]), evidence={"names": names, "share": share})



RULE = Rule(
    code="RUN338",
    name="gradients_of_zero",
    severity="warning",
    summary="a part of the model gets gradients that are all zero",
    why="It cannot learn: two factors that both begin at zero, dead units, or a mask that covers everything.",
    fix="Start one factor of a low-rank adapter at random; look at what lies between these layers and the loss.",
    source="Hu et al. 2021, LoRA; Amazon SageMaker Debugger, rule AllZero",
    check=check,
    trips=lambda: toy_loop(more=[toy_optimizer(zeros=["fc.lora_A", "fc.lora_B"], zero_weights=500)]),
    passes=lambda: toy_loop(more=[toy_optimizer(zeros=[], zero_weights=0)]),
    wrong_when="experts or branches that were not chosen in five sampled steps",
    threshold=f"exactly 0 at 5 samples, 3 steps apart; {SHARE:.0%} of the weights",
)
