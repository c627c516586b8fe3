"""RUN349: an optimizer that does not know how many steps it has taken."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, place_of, steps_by_optimizer, toy_loop

SAMPLES = 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose own count stood still over four samples, ten steps apart."""
    for index, own in steps_by_optimizer(rows):
        seen = [row for row in own if is_number(row.get("state_step")) and row.get("accumulated")]
        for end in range(SAMPLES, len(seen) + 1):
            part = seen[end - SAMPLES : end]
            if is_stuck(part):
                row = part[-1]
                what = (f"after {row['own_step']} steps the optimizer's own count for a parameter that always had "
                        f"gradients is {row['state_step']:g}, and was {part[0]['state_step']:g} after "
                        f"{part[0]['own_step']}")
                yield found(RULE, what, where=at(row, place_of(rows, "optimizer", optimizer=index)), evidence={
                    "own_step": row["own_step"], "state_step": row["state_step"], "samples": SAMPLES})  # fmt: skip
                break


def is_stuck(part: list[Row]) -> bool:
    """Whether the count of the state never grew, while steps went on."""
    counts = [row["state_step"] for row in part]
    return all(after <= before for before, after in pairwise(counts))


RULE = Rule(
    code="RUN349",
    name="step_count_stuck",
    severity="error",
    summary="the optimizer forgets its state between steps",
    why="Moments and their bias correction begin anew each time: Adam becomes the sign of the gradient, and there is "
        "no momentum.",
    fix="Do not clear optimizer.state or load an old state in the loop; under torch.compile update torch.",
    source="pytorch#115607; torch 2.14 documentation, Adam",
    check=check,
    trips=lambda: toy_loop(60, change=lambda number, row: {"state_step": 1.0 if number % 10 == 1 else None}),
    passes=lambda: toy_loop(60, change=lambda number, row: {"state_step": number if number % 10 == 1 else None}),
    wrong_when="the state is cleared on purpose, as by cyclic restarts of every ten steps or fewer",
    threshold=f"no growth over {SAMPLES} samples, ten steps apart",
    explains=("RUN312", "RUN605"),
)
