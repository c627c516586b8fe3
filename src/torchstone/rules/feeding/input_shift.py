"""RUN503: training and evaluation are given inputs of different scale."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_input, toy_loop, training_loaders

SHIFT, RATIO, CALLS = 0.5, 3.0, 2
NEAR, APART, SLIDING = 0.15, 1.5, 0.5
DRIFT = "Forecast differences, or take each window's own last value or mean off it, so that the level does not matter."


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model where mean or deviation differ between the first inputs of training and of evaluation."""
    seen = [row for row in of(rows, "input") if row.get("std") is not None]
    for root in sorted({row["root"] for row in seen}):
        mine = [row for row in seen if row["root"] == root]
        train = [row for row in mine if row["has_grad"] and row["training"]]
        other = [row for row in mine if not row["has_grad"] and not row["training"] and row["step"] > 0]
        if min(len(train), len(other)) < CALLS or train[0]["shape"][1:] != other[0]["shape"][1:]:
            continue
        (mean, std), (there, spread) = _mean(train), _mean(other)
        is_raw = is_raw_beside(train, other) or is_raw_beside(other, train)
        is_wider = max(std, spread) > RATIO * min(std, spread)
        if not is_raw and not is_wider and abs(mean - there) <= SHIFT * max(std, spread):
            continue
        what = (f"inputs have mean {mean:.3g} and deviation {std:.3g} in training, {there:.3g} and {spread:.3g} in "
                "evaluation")
        evidence = {"train": [mean, std], "evaluation": [there, spread]}
        if not is_raw and not is_wider and is_series(rows):
            yield found(RULE, f"{what}: the series has moved on", where=at(other[-1]), evidence=evidence,
                        severity="advice", fix=DRIFT)
        else:
            yield found(RULE, what, where=at(other[-1]), evidence=evidence)


def is_series(rows: Rows) -> bool:
    """Whether evaluation is given windows of a series, one after the other: their level may be another by then."""
    training = training_loaders(rows)
    return any(
        row["loader"] not in training and row["num"] and row["num_sliding"] >= SLIDING * row["num"]
        for row in of(rows, "windows")
    )  # fmt: skip


def is_raw_beside(one: list[Row], other: list[Row]) -> bool:
    """Whether one side has mean 0 and deviation 1, and the other one has nothing below 0 and another deviation."""
    (mean, std), (_, spread) = _mean(one), _mean(other)
    is_scaled = abs(mean) < NEAR and abs(std - 1) < NEAR and min(row["low"] for row in one) < 0
    return is_scaled and min(row["low"] for row in other) >= 0 and max(std, spread) > APART * min(std, spread)


def _mean(rows: list[Row]) -> tuple[float, float]:
    return sum(row["mean"] for row in rows) / len(rows), sum(row["std"] for row in rows) / len(rows)


RULE = Rule(
    code="RUN503",
    name="input_shift",
    severity="error",
    summary="training and evaluation are scaled differently",
    why="The model is judged on inputs that it has never seen the like of; one side is normalised twice or not at all.",
    fix="Scale both with the statistics of the training part, in one place.",
    source="densenet#51; Medical-Transformer#22; gromo#58",
    check=check,
    trips=lambda: toy_loop(more=[
        *[toy_input(std=0.1, mean=-1.0)] * 3, *[toy_input(has_grad=False, training=False, step=14)] * 3]),
    passes=lambda: toy_loop(more=[
        *[toy_input()] * 3, *[toy_input(has_grad=False, training=False, step=14)] * 3]),
    wrong_when="the evaluation set is from another place on purpose",
    threshold=f"means {SHIFT:g} deviations apart, or deviations {RATIO:g} times apart, over {CALLS} to 3 batches each; "
              "advice where the means alone differ and the inputs are windows of one series",
    confidence="likely",
)
