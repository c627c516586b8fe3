"""RUN603: updates that move nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._pictures import points
from torchstone.rules._watched import Rows, at, place_of, steps_by_optimizer, toy_loop
from torchstone.rules.health._layers import hints

SMALL, SAMPLES, MOVED = 1e-6, 4, 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with four tiny updates in a row at half of its highest rate or more."""
    for index, own in steps_by_optimizer(rows):
        seen = [row for row in own if is_number(row.get("update_ratio"))]
        highest = max((row["lr"] for row in own), default=0.0)
        if any(row["update_ratio"] > MOVED for row in seen):
            continue  # a rate that once moved the weights is not too low: RUN614
        for end in range(SAMPLES, len(seen) + 1):
            part = seen[end - SAMPLES : end]
            is_tiny = all(row["update_ratio"] < SMALL and row["lr"] >= highest / 2 for row in part)
            if is_tiny and any((row.get("grad_norm") or 0) > 0 for row in part):
                largest = max(row["update_ratio"] for row in part)
                what = (f"{SAMPLES} sampled updates in a row were at most {largest:.2g} of the weights (learning rate "
                        f"{part[-1]['lr']:g}); about 0.001 is usual")
                more, layers = hints(rows)
                yield found(RULE, what + more, where=at(part[-1], place_of(rows, "optimizer", optimizer=index)),
                            evidence={"largest": largest, "threshold": SMALL, "lr": part[-1]["lr"], **layers,
                                      "series": {"update / weight": points(seen, "update_ratio")}})
                break


RULE = Rule(
    code="RUN603",
    name="update_too_small",
    severity="warning",
    summary="the learning rate is far too low",
    why="The weights stand still: in float32 an update of 1e-7 of a weight is rounded away.",
    fix="Raise the learning rate, tenfold for a start.",
    source="Amazon SageMaker Debugger, rule PoorUpdates (1e-8); Karpathy 2022, makemore part 3",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"update_ratio": 1e-8 if number % 10 == 1 else None}),
    passes=toy_loop,
    wrong_when="a model that is done is kept as it is on purpose",
    threshold=f"below {SMALL:g} at {SAMPLES} samples in a row, at half of the highest rate or more, "
              f"where none was above {MOVED:g}",
    confidence="likely",
    explains=("RUN605", "RUN607", "RUN206", "RUN204", "RUN802", "RUN808", "RUN809"),
)
