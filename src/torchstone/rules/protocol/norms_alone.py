"""RUN311: nothing but norm layers is trained."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose trained parameters all belong to norms, while others are frozen."""
    for row in of(rows, "model"):
        if row.get("is_norm_alone"):
            what = (f"{row['num_trained']} of {row['num_parameters']} parameters of {row['class']} are trained, "
                    "and all belong to norm layers")
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer")),
                        evidence={"num_trained": row["num_trained"], "num_parameters": row["num_parameters"]})


RULE = Rule(
    code="RUN311",
    name="norms_alone",
    severity="warning",
    summary="only scales and shifts of norm layers learn",
    why="A freezing filter that was too wide leaves almost nothing to train, not even the head.",
    fix="Check the names that are frozen; unfreeze at least the head.",
    source="PyTorch forum 84911; Jiang et al. 2025, TrainCheck (OSDI)",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(is_norm_alone=True, num_trained=2)]),
    passes=toy_loop,
    wrong_when="tuning of norms alone is meant (Frankle et al. 2021, Training BatchNorm and Only BatchNorm)",
    confidence="likely",
    explains=("RUN605",),
)
