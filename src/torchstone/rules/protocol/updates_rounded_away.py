"""RUN348: gradients that are not zero, and steps that move nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

SAMPLES, SHARE, HALF, MOVED = 3, 1e-5, ("bfloat16", "float16"), 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer three of whose samples in a row left weights as they were, which had gradients."""
    for index, own in steps_by_optimizer(rows):
        seen = [row for row in own if is_number(row.get("part_moved")) and is_number(row.get("part_grad"))]
        sick = first_streak(seen, is_sick, SAMPLES)
        if sick is None:
            continue
        is_half = sick.get("part_dtype") in HALF
        why = (f"the weights are {sick['part_dtype']}, in which so small a change is rounded away" if is_half
               else "the step itself does nothing: its result is not written into the parameters")
        what = (f"gradients of up to {sick['part_grad']:.3g} and a rate of {sick['lr']:g} changed "
                f"{sick['part_moved']:.0%} of the watched weights (about {sick['part_size']:.3g} in size) at {SAMPLES} "
                f"samples in a row: {why}")
        fix = ("Keep the weights in float32 and compute in half precision by autocast; or round stochastically."
               if is_half else None)  # fmt: skip
        yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)), fix=fix, evidence={
            "optimizer": index, "gradient": sick["part_grad"], "lr": sick["lr"], "moved": sick["part_moved"],
            "dtype": sick.get("part_dtype")})  # fmt: skip


def is_sick(row: Row) -> bool:
    """Whether a step at a real rate and with a real gradient left the watched weights as they were.

    In half precision nine tenths of them: those near zero still move.
    """
    if row["part_grad"] <= 0 or row["lr"] <= 0:
        return False
    if row.get("part_dtype") in HALF:
        return bool(row["part_moved"] < MOVED)
    is_large = row["lr"] * row["part_grad"] > SHARE * (row.get("part_size") or 1.0)
    return bool(is_large and row["part_moved"] == 0.0)


def _loop(moved: float) -> list[dict[str, object]]:
    def change(number: int, row: dict[str, object]) -> dict[str, object]:
        if number % 10 != 1:
            return {}
        return {"part_moved": moved, "part_grad": 0.1, "part_size": 0.05, "part_dtype": "bfloat16", "lr": 1e-5}

    return toy_loop(60, change=change)


RULE = Rule(
    code="RUN348",
    name="updates_rounded_away",
    severity="error",
    summary="the optimizer steps and the weights stay as they are",
    why="Nothing is learnt, although losses, gradients and rates look as they should.",
    fix="Write the step into the parameter in place (p.add_(…) under no_grad): p = p - … only makes a new tensor.",
    source="Jiang et al. 2025, TrainCheck (OSDI): addcmul_ on MPS; Zamirai et al. 2020, Revisiting BFloat16 Training",
    check=check,
    trips=lambda: _loop(0.0),
    passes=lambda: _loop(0.8),
    threshold=f"at {SAMPLES} samples in a row: no weight moved in float32, where rate times gradient is above "
              f"{SHARE:g} of the weights; fewer than {MOVED:.0%} in half precision",
    explains=("RUN603", "RUN605", "RUN349"),
)
