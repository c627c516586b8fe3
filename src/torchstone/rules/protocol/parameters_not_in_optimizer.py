"""RUN307: parameters with gradients that no optimizer holds."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, some, toy_loop, toy_model

LOOKS, LOOKS_AT_WHOLE = 6, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model with such parameters at six looks in a row."""
    for row in of(rows, "model"):
        if row.get("unowned_looks", 0) >= LOOKS and row.get("num_unowned"):
            num = row["num_unowned"]
            what = (f"{num} of {row['num_parameters']} parameters of {row['class']} get gradients and are in no "
                    f"optimizer: {some(row['unowned'])}")
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer"), layer=row["unowned"][0]),
                        evidence={"unowned": row["unowned"], "num": num, "looks": row["unowned_looks"]})

    for row in of(rows, "stranger"):
        if row["looks"] >= LOOKS_AT_WHOLE:
            what = f"no optimizer holds any of the {row['num']} parameters of {row['class']}, which do get gradients"
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer")), severity="warning",
                        evidence={"num": row["num"], "looks": row["looks"]})


RULE = Rule(
    code="RUN307",
    name="parameters_not_in_optimizer",
    severity="error",
    summary="a part of the model is computed, differentiated and never updated",
    why="These weights stay as they were made: the optimizer was given a part of the model, or layers were added or "
        "replaced after it was built. Their gradients also pile up.",
    fix="Give the optimizer model.parameters() after the model is complete, or freeze what is not to learn.",
    source="EasyAnimate#99; mace#525; SiamCAR#18",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(unowned=["head.weight"], num_unowned=1, unowned_looks=8)]),
    passes=toy_loop,
    wrong_when="the gradients themselves are wanted, as for an analysis",
    threshold=f"{LOOKS} looks in a row, so that groups added later are seen",
    explains=("RUN308",),
)
