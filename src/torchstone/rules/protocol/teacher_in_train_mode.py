"""RUN345: a fixed model that answers in train mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_model

NUM = 12


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model that was trained, stands still now, and answers in train mode while another one learns."""
    for row in of(rows, "model"):
        num = row.get("quiet_in_training", 0)
        if num >= NUM:
            what = (f"{row['class']} answered {num} times without gradients, in train mode and untrained: "
                    "its dropout and batch statistics are on")
            yield found(RULE, what, where=at(row), evidence={"forwards": num})



RULE = Rule(
    code="RUN345",
    name="teacher_in_train_mode",
    severity="warning",
    summary="a teacher or fixed part runs in train mode",
    why="Its answers are noisy, and its batch statistics drift with data that it does not learn from.",
    fix="Call teacher.eval() once, after each train() of a module that holds it.",
    source="Hinton et al. 2015, Distilling the Knowledge in a Neural Network; torch 2.14 documentation, Module.eval",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(model=1, quiet_in_training=40)]),
    passes=lambda: toy_loop(more=[toy_model(model=1, quiet_in_training=0)]),
    wrong_when="a noisy teacher is the method (Beyer et al. 2022 keep it fixed; noisy student does not)",
    threshold=f"{NUM} forward passes in a row without a step of its own optimizer",
    confidence="likely",
)
