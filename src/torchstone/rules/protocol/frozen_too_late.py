"""RUN356: a part that train() freezes, after it has been trained for a while."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose own train() froze parameters that the optimizer had moved before."""
    for row in of(rows, "model"):
        late = row.get("frozen_late")
        if late:
            what = (f"{late['num']} parameters ({some(late['names'])}) that {late['class']}.train() freezes were "
                    f"trained up to step {late['at_step']}: train() was first called then")
            where = at({"step": late["at_step"]}, place_of(rows, "optimizer"))
            yield found(RULE, what, where=where, evidence=dict(late))


def _toy(late: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [toy_model(**({"frozen_late": late} if late else {})), *toy_loop()[1:]]


RULE = Rule(
    code="RUN356",
    name="frozen_too_late",
    severity="warning",
    summary="a frozen part is trained until train() is first called",
    why="A new module is in train mode without a call of train(): what is frozen there alone is trained up to the "
        "first evaluation, by gradients that were to leave it as it is.",
    fix="Freeze in __init__ as well, or call model.train() before the first step.",
    source="mmpretrain#702, frozen_stages",
    check=check,
    trips=lambda: _toy({"class": "Net", "names": ["stem.weight"], "num": 2, "weights": 320, "at_step": 14}),
    passes=lambda: _toy(None),
    wrong_when="train() freezes more and more on purpose",
)
