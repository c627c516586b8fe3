"""RUN312: a new optimizer over the same parameters, again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, steps_by_optimizer, toy_loop, toy_optimizer, toy_step

NUM = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per set of parameters that three optimizers had in turn, each beginning where the last one ended."""
    steps = dict(steps_by_optimizer(rows))
    anew = {row["optimizer"] for row in of(rows, "reset")}  # weights were reset: folds, each with its own optimizer
    by_parameters: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for row in of(rows, "optimizer"):
        if row.get("parameters") and row["optimizer"] in steps:
            by_parameters[tuple(row["parameters"])].append(row)
    for group in by_parameters.values():
        spans = [(steps[row["optimizer"]][0]["step"], steps[row["optimizer"]][-1]["step"]) for row in group]
        in_turn = all(last < first for (_, last), (first, _) in pairwise(spans))
        if anew & {row["optimizer"] for row in group}:
            continue
        if len(group) >= NUM and in_turn and group[0]["kind"] != "SGD":
            what = f"{len(group)} optimizers ({group[-1]['kind']}) were built in turn over the same parameters"
            yield found(RULE, what, where=at({**group[-1], "step": spans[-1][0]}), evidence={"num": len(group)})


def _sick() -> list[dict[str, object]]:
    steps = [{**toy_step(number, optimizer=number // 10), "step": number + 1} for number in range(40)]
    return [*(toy_optimizer(optimizer=index) for index in range(4)), *steps]


RULE = Rule(
    code="RUN312",
    name="optimizer_rebuilt",
    severity="error",
    summary="the optimizer is built anew during training and loses its state",
    why="Moments and step counts begin at zero each time, so that the first steps after it are wild and the schedule "
        "starts over.",
    fix="Build the optimizer once, before the loop over epochs; change group['lr'] instead.",
    source="deepsensor#47; OpenNMT-py#617",
    check=check,
    trips=_sick,
    passes=toy_loop,
    wrong_when="restarts of the optimizer's state are meant; plain SGD, which has none to lose, is not reported",
    threshold=f"{NUM} optimizers in turn over the same parameters",
    explains=("RUN317", "RUN318"),
)
