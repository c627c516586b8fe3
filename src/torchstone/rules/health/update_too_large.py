"""RUN602: updates as large as the weights."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._pictures import points
from torchstone.rules._watched import Rows, at, place_of, steps_by_optimizer, toy_loop

LARGE, SAMPLES = 0.5, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose updates were above half of the weights at three samples in a row."""
    for index, own in steps_by_optimizer(rows):
        seen = [row for row in own if is_number(row.get("update_ratio"))]
        for end in range(SAMPLES, len(seen) + 1):
            ratios = [row["update_ratio"] for row in seen[end - SAMPLES : end]]
            if min(ratios) > LARGE:
                row = seen[end - 1]
                what = (f"{SAMPLES} sampled updates in a row were {min(ratios):.2g} to {max(ratios):.2g} times the "
                        f"weights; about 0.001 is usual (learning rate {row['lr']:g})")
                yield found(RULE, what, where=at(row, place_of(rows, "optimizer", optimizer=index)),
                            evidence={"ratios": ratios, "threshold": LARGE, "lr": row["lr"],
                                      "series": {"update / weight": points(seen, "update_ratio")}})
                break


RULE = Rule(
    code="RUN602",
    name="update_too_large",
    severity="error",
    summary="the learning rate is far too high",
    why="Each step throws the weights far from where they were: what the last one learnt is lost.",
    fix="Lower the learning rate, tenfold for a start.",
    source="Karpathy 2022, makemore part 3: about 1e-3 is usual; Amazon SageMaker Debugger bounds it by 10",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"update_ratio": 0.9 if number % 10 == 1 else None}),
    passes=toy_loop,
    wrong_when="the largest tensor starts near zero and grows fast",
    threshold=f"above {LARGE} at {SAMPLES} samples in a row, one each 10 steps",
    confidence="likely",
    explains=("RUN604", "RUN605", "RUN607", "RUN206", "RUN803", "RUN805", "RUN813"),
)
