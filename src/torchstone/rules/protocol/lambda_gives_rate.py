"""RUN351: a LambdaLR whose function returns a rate, not a factor."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_schedule

STEPS, SHARE, RISEN = 20, 0.02, 1.05


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per LambdaLR under which 20 steps never had a fiftieth of the rate that the optimizer was given."""
    for row in of(rows, "schedule"):
        if row["kind"] not in ("LambdaLR", "MultiplicativeLR") or not row.get("rates"):
            continue
        wanted = max(row["rates"])
        own = [step for step in of(rows, "step") if step["optimizer"] == row["optimizer"] and step["lr"] > 0]
        if len(own) >= STEPS and is_small(own, wanted):
            highest = max(step["lr"] for step in own)
            what = (f"the optimizer was given a rate of {wanted:g}, and over {len(own)} steps the highest was "
                    f"{highest:.3g}: {highest / wanted:.2g} times that")
            yield found(RULE, what, where=at(row), evidence={"given": wanted, "highest": highest, "steps": len(own)})


def is_small(own: list[Row], wanted: float) -> bool:
    """Whether the rate was always a fiftieth or less, and does not rise, as it does in a warm-up."""
    highest = max(step["lr"] for step in own)
    return bool(highest <= SHARE * wanted and own[-1]["lr"] <= RISEN * own[len(own) // 2]["lr"])


def _loop(rate: float) -> list[dict[str, object]]:
    return toy_loop(60, change=lambda number, row: {"lr": rate}, more=[toy_schedule(kind="LambdaLR", rates=[1e-3])])


RULE = Rule(
    code="RUN351",
    name="lambda_gives_rate",
    severity="warning",
    summary="the schedule multiplies the rate by a rate",
    why="LambdaLR multiplies the optimizer's rate by what the function returns; a function that returns 1e-3 makes a "
        "rate of 1e-3 into one of 1e-6.",
    fix="Return a factor (1.0 at the start), or give the optimizer lr=1.0.",
    source="torch 2.14 documentation, LambdaLR: the initial lr times a given function",
    check=check,
    trips=lambda: _loop(1e-6),
    passes=lambda: _loop(1e-3),
    wrong_when="only the tail of a schedule is run",
    threshold=f"at most {SHARE:g} of the rate in all of {STEPS} steps or more, and not rising",
    confidence="likely",
    explains=("RUN343", "RUN603"),
)
