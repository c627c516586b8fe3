"""RUN202: fp16 whose every step overflows."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules.trace._steps import Trace, steps, toy_run

NUM = 20


def check(trace: Trace) -> Iterator[Finding]:
    """One finding at the first of `NUM` overflows in a row under a loss scaler."""
    streak: list[dict[str, object]] = []
    for row in steps(trace):
        has_overflown = str(row.get("skipped")).startswith("non-finite")
        is_overflow = has_overflown and row.get("scale", 1.0) != 1.0
        # A scaler that has come down to 1 goes on with the same streak.
        goes_on = bool(streak) and has_overflown
        streak = [*streak, row] if is_overflow or goes_on else []
        if len(streak) == NUM:
            first = streak[0]
            yield found(
                RULE,
                f"{NUM} steps in a row were skipped because fp16 overflowed, from step {first['step']}; "
                f"the loss scale fell from {first['scale']:g} to {row['scale']:g}",
                where=Where(step=int(str(first["step"]))),
                evidence={"threshold": NUM, "first_scale": first["scale"], "last_scale": row["scale"]},
            )
            return


def _overflowing(step: int, row: dict[str, object]) -> dict[str, object]:
    return {"scale": 65536.0 / 2 ** min(step, 16), "skipped": "non-finite gradient", "grad_norm": None}


RULE = Rule(
    code="RUN202",
    name="always_overflows",
    severity="error",
    summary="every step is skipped by the loss scaler",
    why="The weights do not move at all, while time passes and the progress bar grows.",
    fix="Train in bf16 or fp32 (train.precision), or look for a loss or an activation beyond 65,504.",
    source="torch.amp.GradScaler: starts at 65,536 and halves, so 16 skipped steps reach 1 (torch 2.14)",
    check=check,
    trips=lambda: toy_run(change=_overflowing),
    passes=lambda: toy_run(change=lambda step, row: _overflowing(step, row) if step < 5 else {"scale": 2048.0}),
    threshold="20 skipped steps in a row: more than the 16 that a scaler needs to come down to 1",
    needs=("scale", "skipped"),
)
