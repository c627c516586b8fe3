"""RUN411: the same input, another answer."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

DIFFERENCE = 1e-3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a model in eval mode drops attention, or gave different outputs for the same batch."""
    for row in of(rows, "dropped"):
        what = f"{row['function']}(dropout_p={row['rate']:g}) is called by a {row['class']} that is in eval mode"
        yield found(RULE, what, where=at(row), evidence={"rate": row["rate"], "class": row["class"]})
        return
    for row in of(rows, "asked"):
        again = row.get("repeat_difference")
        if again is not None and again > DIFFERENCE:
            what = f"in eval mode the same batch gives other outputs when run again (by {again:.2g} of their spread)"
            yield found(RULE, what, where=at(row, place_of(rows, "loss", has_grad=False)),
                        evidence={"difference": again, "threshold": DIFFERENCE})
            return


def _asked(again: float) -> dict[str, object]:
    return {"event": "asked", "step": 14, "root": 0, "num": 40, "part_difference": again, "repeat_difference": again}


RULE = Rule(
    code="RUN411",
    name="random_in_evaluation",
    severity="warning",
    summary="something random is on in eval mode",
    why="F.dropout without training=self.training, or noise in forward, makes every score a draw, and a worse one.",
    fix="Use nn.Dropout, or F.dropout(x, p, training=self.training); scaled_dot_product_attention wants dropout_p=0 in "
        "evaluation.",
    source="pytorch#26338, #124464; transformers#33844",
    check=check,
    trips=lambda: toy_loop(more=[_asked(0.4)]),
    passes=lambda: toy_loop(more=[_asked(1e-6)]),
    wrong_when="the model samples on purpose, as a variational autoencoder does",
    threshold=f"{DIFFERENCE:g} of the outputs' spread; dropout modules in train mode are not asked",
)
