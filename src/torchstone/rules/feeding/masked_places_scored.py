"""RUN521: labels at places that the attention mask says are padding."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of
from torchstone.rules.feeding.labels_shifted_twice import given

CALLS, SHARE = 3, 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose labels score places that its own attention mask leaves out, in each batch read."""
    seen = [row for row in of(rows, "labels_given") if row["masked"] is not None]
    for root in sorted({row["root"] for row in seen}):
        mine = [row for row in seen if row["root"] == root]
        if len(mine) >= CALLS and min(row["masked"] for row in mine) >= SHARE:
            what = (f"{mine[-1]['masked']:.0%} of the scored labels stand at places where attention_mask is 0: the "
                    "loss is in good part about padding")
            yield found(RULE, what, where=at(mine[-1], place_of(rows, "loss", has_grad=True)),
                        evidence={"masked": mine[-1]["masked"], "scored": mine[-1]["scored"], "batches": len(mine)})


RULE = Rule(
    code="RUN521",
    name="masked_places_scored",
    severity="warning",
    summary="the labels hold padding that the attention mask leaves out",
    why="Padding is easy to say: the loss looks far better than it is, and the text gets a part of the gradient.",
    fix="labels[attention_mask == 0] = -100, or let DataCollatorForLanguageModeling(mlm=False) make the labels.",
    source="transformers documentation: labels of -100 are ignored; the share: starting point",
    check=check,
    trips=lambda: given(masked=0.6),
    passes=given,
    wrong_when="the mask hides more than padding, as in a prefix that is to be said and not seen",
    threshold=f"{SHARE:.0%} of the scored labels, in {CALLS} batches",
    explains=("RUN423",),
)
