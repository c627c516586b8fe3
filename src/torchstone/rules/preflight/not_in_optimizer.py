"""RUN706: parameters that get gradients and that nobody updates."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import some
from torchstone.rules.preflight._rows import Rows, measured, toy_rows


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the optimizer that was given lacks parameters that are not frozen."""
    for row in measured(rows, "gradients"):
        if row["not_owned"]:
            what = (f"{len(row['not_owned'])} of {row['num']} parameters that are not frozen are not in the optimizer: "
                    f"{some(row['not_owned'])}")
            yield found(RULE, what, where=Where(layer=row["not_owned"][0]),
                        evidence={"not_owned": row["not_owned"][:20], "num": len(row["not_owned"])})


RULE = Rule(
    code="RUN706",
    name="not_in_optimizer",
    severity="error",
    summary="parameters that are not frozen are missing from the optimizer",
    why="They keep their first values; the rest learns around them.",
    fix="Make the optimizer after the model is complete and on its device, from model.parameters(); freeze what is not "
        "meant to learn with requires_grad_(False).",
    source="documentation of torch 2.14, torch.optim: constructing it",
    check=check,
    trips=lambda: toy_rows("gradients", not_owned=["head.weight", "head.bias"]),
    passes=toy_rows,
    wrong_when="another optimizer, which was not given, has them: a GAN, or one optimizer per part",
)
