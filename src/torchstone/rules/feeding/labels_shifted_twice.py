"""RUN520: labels that are shifted before the model shifts them."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, place_of, toy_loop

CALLS, SHARE, APART = 3, 0.98, 0.5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per causal language model whose labels are the tokens after its inputs, in each batch read."""
    given = [row for row in of(rows, "labels_given") if row["shifts"]]
    for root in sorted({row["root"] for row in given}):
        mine = [row for row in given if row["root"] == root]
        if len(mine) >= CALLS and all(map(is_sick, mine)):
            what = (f"{mine[-1]['after']:.0%} of the labels are the token after the input at their place, and the "
                    "model moves labels by one place itself: it learns to say the token after the next")
            yield found(RULE, what, where=at(mine[-1], place_of(rows, "loss", has_grad=True)),
                        evidence={"after": mine[-1]["after"], "same": mine[-1]["same"], "batches": len(mine)})


def is_sick(row: Row) -> bool:
    """Whether labels are the next tokens, and not the tokens themselves as well, as in a text of one word."""
    return bool(row["after"] >= SHARE and row["same"] < APART)


def given(**different: object) -> list[dict[str, object]]:
    """A sound loop around a causal language model, with three rows of what it was given."""
    row = {"event": "labels_given", "step": 0, "root": 0, "shifts": True, "scored": 300, "same": 1.0, "after": 0.05,
           "masked": 0.0}  # fmt: skip
    return toy_loop(more=[{**row, **different}] * CALLS)


RULE = Rule(
    code="RUN520",
    name="labels_shifted_twice",
    severity="error",
    summary="labels are moved by one place, and the model does it again",
    why="The model learns to leave out a token: the loss falls a good way, and what is generated skips tokens.",
    fix="Give labels=input_ids (with -100 where nothing is to be scored): causal models of transformers shift inside.",
    source="transformers documentation, Causal language modeling: labels are shifted inside of the model",
    check=check,
    trips=lambda: given(same=0.05, after=1.0),
    passes=given,
    wrong_when="the model is to say the token after the next one",
    threshold=f"{SHARE:.0%} of the labels, in {CALLS} batches",
)
